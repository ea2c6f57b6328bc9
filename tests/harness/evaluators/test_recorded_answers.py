"""Real answers of gpt-4o-mini and others to MultiHop-RAG: the figures published with them, and what we change.

The answers' own rule lower-cases and drops a final dot. Every verdict in which ours differs is listed here with
the reason, after reading the question; a new one fails the test until it has been read too.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness.evaluators.answer import is_null, is_right
from harness.evaluators.normalise import abstains
from harness.records import Reference

GPT_4O_MINI = "trungviet17/gpt-4o-mini_k5_part2of6"

REVIEWED = {
    (GPT_4O_MINI, "True", "Yes"): 1,
    # The question is "Does the article ... while another ...?": True and Yes say the same.
    ("trungviet17/gemini-2.0-flash_k5", "The Federal Reserve", "Federal Reserve"): 1,
    ("trungviet17/gemini-2.0-flash_k2", "The Federal Reserve", "Federal Reserve"): 1,
    # The same institution without its article.
}
"""(run, gold answer, model answer) -> rows that the plain rule calls wrong and we call right."""


@pytest.fixture(scope="module")
def rows(data_dir: Path) -> list[dict[str, Any]]:
    lines = (data_dir / "multihop_rag" / "recorded_answers.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def plain(answer: str) -> str:
    return answer.lower().strip().removesuffix(".")


def plainly_right(row: dict[str, Any]) -> bool:
    return plain(row["model_answer"]) == plain(row["gold_answer"])


def right(row: dict[str, Any]) -> bool:
    return is_right(row["model_answer"], [row["gold_answer"]])


def by_type(rows: list[dict[str, Any]]) -> dict[str, int]:
    return dict(Counter(row["question_type"] for row in rows))


def test_the_plain_rule_finds_the_published_307_of_426(rows: list[dict[str, Any]]) -> None:
    ours = [row for row in rows if row["run"] == GPT_4O_MINI]
    assert len(ours) == 426
    assert by_type([row for row in ours if plainly_right(row)]) == {
        "inference_query": 116,
        "comparison_query": 99,
        "temporal_query": 47,
        "null_query": 45,
    }


def test_our_normalisation_finds_308_of_426(rows: list[dict[str, Any]]) -> None:
    ours = [row for row in rows if row["run"] == GPT_4O_MINI]
    assert by_type([row for row in ours if right(row)]) == {
        "inference_query": 116,
        "comparison_query": 100,
        "temporal_query": 47,
        "null_query": 45,
    }


def test_every_verdict_we_change_has_been_reviewed_and_none_is_lost(rows: list[dict[str, Any]]) -> None:
    gained = [row for row in rows if right(row) and not plainly_right(row)]
    lost = [row for row in rows if plainly_right(row) and not right(row)]
    assert Counter((row["run"], row["gold_answer"], row["model_answer"]) for row in gained) == REVIEWED
    assert lost == []


def test_the_figures_of_the_smaller_runs(rows: list[dict[str, Any]]) -> None:
    counts = Counter(row["run"] for row in rows if right(row))
    assert counts == {
        GPT_4O_MINI: 308,
        "trungviet17/gemini-2.0-flash_k5": 33,
        "trungviet17/gemini-2.0-flash_k2": 15,
        "trantuan1701/treehop": 5,
    }


def test_null_queries_are_found_by_their_answer_and_are_exactly_the_type_null(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        reference = Reference(query_id="q", query_type=row["question_type"], answers=(row["gold_answer"],))
        assert is_null(reference) == (row["question_type"] == "null_query")


def test_refusals_and_hallucinations_of_the_big_run(rows: list[dict[str, Any]]) -> None:
    ours = [row for row in rows if row["run"] == GPT_4O_MINI]
    null = [row for row in ours if row["question_type"] == "null_query"]
    answerable = [row for row in ours if row["question_type"] != "null_query"]
    assert sorted(row["model_answer"] for row in null if not abstains(row["model_answer"])) == [
        "5",
        "C",
        "F.M.",
        "G",
        "M",
        "X",
    ]
    assert {row["model_answer"] for row in answerable if abstains(row["model_answer"])} == {
        "Insufficient information."
    }
