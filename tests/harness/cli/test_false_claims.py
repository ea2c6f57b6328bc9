"""Tricks and accidents that made a false winner, through the command line: what verdict.json says of them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine

N = 200
Row = dict[str, Any]


@pytest.fixture(autouse=True)
def _documents_and_questions(cli: CommandLine) -> None:
    (cli.folder / "docs").mkdir()
    rows = []
    for number in range(N):
        quote, name = f"The code of topic {number} is zz{number}.", f"d{number:03d}.md"
        (cli.folder / "docs" / name).write_text(f"# Topic {number}\n\n{quote}\n")
        question = {"id": f"q{number:03d}", "question": f"What is the code of topic {number}?"}
        rows.append({**question, "answers": [f"zz{number}"], "evidence": [{"document": name, "quote": quote}]})
    written(cli.folder, "q.jsonl", rows)


def is_right(system: str, number: int) -> bool:
    """Both are right on 121; a on 7 more, and b on 1 more."""
    return number < 121 or (number < 128 if system == "a" else number == 128)


def written(folder: Path, name: str, rows: Sequence[Row]) -> str:
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return name


def imported(cli: CommandLine, name: str, rows: Sequence[Row], *words: str) -> None:
    file = written(cli.folder, f"{name}.jsonl", rows)
    done = cli.call("import", file, "--docs", "docs", "--questions", "q.jsonl", "-n", name, *words)
    assert done.returncode == 0, done.stderr


def verdict_of(
    cli: CommandLine, answers: Mapping[str, Sequence[Row]], *evaluators: str, measure: str | None = None
) -> dict[str, Any]:
    """What a report of these answers says."""
    for name, rows in answers.items():
        imported(cli, name, rows, "--model", "openai/gpt-4o-mini", "-e", "answer")
    runs = sorted(one.name for one in cli.results.glob("docs--*"))
    scored = cli.call("evaluate", *runs, "-e", ",".join(evaluators))
    assert scored.returncode == 0, scored.stderr
    chosen = ["-m", measure] if measure else []
    told = cli.call("report", *runs, *chosen, "--json")
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    assert found == json.loads(next(cli.results.glob("reports/*/verdict.json")).read_text())
    assert len(found) == 1
    only: dict[str, Any] = found[0]
    return only


def answer(system: str, number: int, **more: Any) -> Row:
    said = f"zz{number}" if is_right(system, number) else "something else"
    return {"query_id": f"q{number:03d}", "answer": said, "input_tokens": 300, "output_tokens": 5, **more}


def answers_of_both() -> dict[str, list[Row]]:
    return {name: [answer(name, number) for number in range(N)] for name in "ab"}


def missing(verdict: dict[str, Any]) -> dict[str, int]:
    return {one["system"]: one["n_missing"] for one in verdict["standings"]}


def test_leaving_out_wrong_document_ids_wins_nothing(cli: CommandLine) -> None:
    def found(system: str, number: int) -> Row:
        right = is_right(system, number)
        ids = [f"d{number:03d}.md" if right else "d000.md"] if right or system == "a" else []
        return answer(system, number, contexts=[{"text": "A passage.", "doc_ids": ids}])

    answers = {name: [found(name, number) for number in range(N)] for name in "ab"}
    verdict = verdict_of(cli, answers, "answer", "retrieval", measure="Recall@10")
    assert (verdict["outcome"], verdict["recommended"]) == ("inconclusive", "a")
    assert missing(verdict) == {"a": 0, "b": 78}


def test_abstaining_instead_of_a_wrong_answer_wins_nothing(cli: CommandLine) -> None:
    answers = answers_of_both()
    for row in answers["b"]:
        if row["answer"] == "something else":
            row["answer"] = "Insufficient information."
    verdict = verdict_of(cli, answers, "answer", "novel_tokens", measure="novel_token_f1")
    assert (verdict["outcome"], verdict["recommended"]) == ("inconclusive", "a")
    assert missing(verdict)["b"] == 78


def test_a_run_whose_tokens_are_known_for_half_of_the_queries_is_not_called_cheaper(cli: CommandLine) -> None:
    answers = answers_of_both()
    for place, row in enumerate(answers["a"]):
        row["input_tokens"] = 100
        if place % 2:
            del row["input_tokens"], row["output_tokens"]
    verdict = verdict_of(cli, answers, "answer")
    assert verdict["outcome"] in {"leading", "equally_good"}
    assert verdict["cheaper"] is None
    assert {one["system"]: one["tokens"]["at_least"] for one in verdict["standings"]} == {"a": True, "b": False}


def test_a_sample_that_the_file_chose_is_compared_with_no_other(cli: CommandLine) -> None:
    answers = answers_of_both()
    imported(cli, "a", answers["a"])
    imported(
        cli, "b", [row for number, row in enumerate(answers["b"]) if is_right("b", number)], "--only-answered"
    )
    runs = sorted(one.name for one in cli.results.glob("docs--*"))
    assert cli.call("evaluate", *runs, "-e", "answer").returncode == 0
    told = cli.call("compare", *runs)
    assert "significantly better" not in told.stdout
    found = json.loads(cli.call("report", *runs, "--json").stdout)
    assert [one["outcome"] for one in found] == ["one_system", "one_system"]
