"""The answer in words where queries say little: too few of them, all alike, or others than were asked for."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from paired_runs import ScoredRun, Value, write_run
from report_groups import group_of, right, written

from harness.core.records import Cost, EvaluationRecord, Score
from harness.report.words.findings import Findings, find

BASELINE = "It is given the reference evidence: a ceiling for the systems, not one of them."


def said(findings: Findings) -> str:
    return "\n".join((findings.headline, *findings.sentences))


def test_more_queries_than_the_data_set_has_are_said_to_be_more(tmp_path: Path) -> None:
    mix = {"inference_query": 816, "null_query": 301}
    plans = [
        ScoredRun(system="naive", scores={"accuracy": [*right(80, 100), *right(20, 100)]}, type_mix=mix),
        ScoredRun(system="kg", scores={"accuracy": [*right(30, 100), *right(73, 100)]}, type_mix=mix),
    ]
    told = said(find(written(tmp_path, *plans)))
    assert "200 queries leave open; the whole data set has 816 of these types." in told


@pytest.mark.parametrize("values", [right(100), [0.3] * 200], ids=["right or wrong", "graded"])
@pytest.mark.parametrize(
    "mix", [{}, {"inference_query": 800, "null_query": 300}], ids=["as sampled", "natural mix"]
)
def test_runs_that_answered_all_alike_are_as_good_as_each_other(
    tmp_path: Path, values: Sequence[Value], mix: Mapping[str, int]
) -> None:
    name = "accuracy" if 1.0 in values else "token_f1"
    types = ("inference_query", "null_query", "null_query")
    plans = [ScoredRun(system=one, scores={name: values}, types=types, type_mix=mix) for one in ("naive", "kg")]
    findings = find(written(tmp_path, *plans))
    assert re.match(r"(kg or naive|naive or kg), within (5 points|0\.05) in ", findings.headline)
    assert "queries would tell" not in said(findings)


def test_a_few_queries_that_were_answered_alike_show_nobody_to_be_as_good(tmp_path: Path) -> None:
    plans = [ScoredRun(system=one, scores={"accuracy": [1.0] * 40}) for one in ("naive", "kg")]
    assert find(written(tmp_path, *plans)).headline.startswith("Undecided between")


def test_evidence_is_compared_besides_at_a_size_of_prompt_that_every_run_has(tmp_path: Path) -> None:
    runs = []
    for system, characters in (("naive", 1500.0), ("kg", 9000.0)):
        run = write_run(tmp_path, ScoredRun(system=system, scores={"accuracy": right(100)}))
        names = ("Hit@10", "fact_Recall@1000c", "fact_Recall@8000c", "Recall@1000c")
        scores = {**dict.fromkeys(names, 0.5), "context_characters": characters}
        record = EvaluationRecord(
            evaluator="retrieval", version="2", measures=tuple(scores), cost=Cost(wall_s=0.0)
        )
        run.write_scores(
            record,
            [
                Score(query_id=f"q{n:03d}", repeat=0, measure=name, status="scored", value=value)
                for name, value in scores.items()
                for n in range(200)
            ],
        )
        runs.append(run)
    comparison = find(group_of(*runs)).comparison
    assert comparison is not None
    names_of = [one.measure.name for one in comparison.measures]
    assert [name for name in names_of if name in names] == ["fact_Recall@1000c"]


def test_where_no_outcome_decides_a_large_difference_is_not_said_to_be_none(tmp_path: Path) -> None:
    plans = [
        ScoredRun(system="gold", scores={"accuracy": [1.0] * 3}, baseline=BASELINE),
        ScoredRun(system="naive", scores={"accuracy": [1.0] * 3}),
        ScoredRun(system="kg", scores={"accuracy": [0.0] * 3}),
        ScoredRun(system="recursive", scores={"accuracy": [1.0, 0.0, 0.0]}),
    ]
    told = said(find(written(tmp_path, *plans)))
    assert "not told apart" not in told
    assert "naive is 100.0 points ahead of kg (3 queries are too few to tell anything apart); p = 0.750" in told
    assert "reaches 100.0 %, level with naive (3 queries are too few to tell anything apart)." in told


def test_of_an_undecided_lead_it_is_said_whose_lead_holds_on_new_documents(tmp_path: Path) -> None:
    counts = {"naive": right(100), "kg": [*right(80, 100), *right(25, 100)], "community": right(20)}
    plans = [
        ScoredRun(system=name, scores={"accuracy": values}, cites=[f"doc-{n}" for n in range(100)])
        for name, values in counts.items()
    ]
    findings = find(written(tmp_path, *plans))
    assert findings.headline.startswith("Undecided between kg and naive")
    assert "That kg is ahead of community holds also on new documents: with the 100 groups" in said(findings)


def test_more_pairs_never_ask_for_fewer_queries(tmp_path: Path) -> None:
    counts = {"naive": [1.0] * 40, "kg": [1.0] * 40, "recursive": [*[1.0] * 39, 0.0]}
    plans = [ScoredRun(system=name, scores={"accuracy": values}) for name, values in counts.items()]
    asked = [
        re.search(r"about ([\d,]+) queries needed", find(written(tmp_path / str(n), *plans[:n])).headline)
        for n in (2, 3)
    ]
    few, more = (int(found[1].replace(",", "")) for found in asked if found)
    assert few < more


def test_who_is_beaten_anyway_does_not_raise_the_queries_that_the_undecided_need(tmp_path: Path) -> None:
    counts = {"naive": [1.0] * 40, "kg": [1.0] * 40, "failing": [0.0] * 40}
    plans = [ScoredRun(system=name, scores={"accuracy": values}) for name, values in counts.items()]
    headline = find(written(tmp_path, *plans)).headline
    found = re.search(r"Undecided between .*: about ([\d,]+) queries needed", headline)
    assert found, headline
    assert int(found[1].replace(",", "")) < 400  # Against a run that differs on every query it would be 5,000.
