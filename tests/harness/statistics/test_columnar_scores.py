"""Scores in columns say what the scores say."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from records import known

from harness.core.errors import StoreError
from harness.core.records import Evidence, Reference, Score, ScoreStatus
from harness.statistics.columnar_scores import IMPUTED, MISSING, NONE, NOT_APPLICABLE, SCORED, ScoreColumns
from harness.statistics.query_values import QueryValues, scored_values
from harness.statistics.run_frame import Frame
from harness.statistics.sampling_design import SamplingDesign, clusters_of
from harness.store import RecordKey, Records
from harness.store.score_files import ScoreLines

from .conftest import frame, record


def score(
    query_id: str, value: float | None, status: ScoreStatus = "scored", measure: str = "m", *, why: str = ""
) -> Score:
    return Score(query_id=query_id, repeat=0, measure=measure, status=status, value=value, explanation=why)


def columns(scores: Sequence[Score], lines: ScoreLines | None = None) -> ScoreColumns:
    """Of a run that was asked these queries, as often."""
    types = dict.fromkeys((one.query_id for one in scores), "t")
    frame = Frame("run", "naive", "demo", types, {}, 1 + max(one.repeat for one in scores))
    return ScoreColumns.read(frame, lines, {}) if lines else ScoreColumns.of(frame, scores)


def test_reasons_are_kept_of_what_applies_to_no_query_and_the_first_failure_of_each() -> None:
    skipped = [score(name, None, "not_applicable", why=f"why {name}") for name in ("a", "b")]
    failed = [score(name, None, "failed", why=f"why {name}") for name in ("c", "d")]
    facts = columns(skipped).by_measure["m"].facts
    assert list(facts.reasons) == ["why a", "why b"]
    facts = columns([*skipped, *failed]).by_measure["m"].facts
    assert (facts.applies, list(facts.reasons), facts.first_failure) == (True, [], "why c")


def answered(records: Records) -> Callable[[RecordKey], bool]:
    return lambda key: key in records and records[key].status == "ok"


def test_the_score_of_a_failure_is_missing_where_the_query_has_an_answer_by_now() -> None:
    read = columns([score("a", 0.0, "imputed"), score("b", 0.0, "imputed")])
    records = {("a", 0): record("a"), ("b", 0): record("b", ok=False)}
    fitting = read.fitting(answered(records))
    assert (fitting.by_measure["m"].count(MISSING), read.by_measure["m"].count(MISSING)) == (1, 0)
    assert fitting.any_missing_of(records)
    assert not read.any_missing_of(records)


def read_back(tmp_path: Path, scores: Sequence[Score]) -> ScoreColumns:
    path = tmp_path / "scores.jsonl"
    path.write_text("".join(f"{one.model_dump_json()}\n" for one in scores))
    return columns(scores, ScoreLines((path,), "make them again"))


def test_what_did_not_apply_to_a_failure_is_missing_of_its_answer_and_what_does_not_apply_to_a_query_is_not(
    tmp_path: Path,
) -> None:
    failure, gold = "ValueError: boom", "the data set gives no reference answer"
    made = [score(name, 0.0, "imputed", "accuracy", why=failure) for name in ("again", "gone")]
    made += [score(name, None, "not_applicable", "documents", why=failure) for name in ("again", "gone")]
    made += [score(name, None, "not_applicable", "f1", why=gold) for name in ("again", "gone", "null")]
    records = {(name, 0): record(name, ok=name != "gone") for name in ("again", "gone", "null")}
    read = read_back(tmp_path, made)
    fitting = read.fitting(answered(records))
    found = {measure: column.states.ravel().tolist() for measure, column in fitting.by_measure.items()}
    assert found == {
        "accuracy": [MISSING, IMPUTED, NONE],
        "documents": [MISSING, NOT_APPLICABLE, NONE],
        "f1": [NOT_APPLICABLE] * 3,
    }
    assert read.by_measure["documents"].count(MISSING) == 0


def test_only_the_repeat_that_has_an_answer_by_now_is_missing(tmp_path: Path) -> None:
    failed = [
        score("a", 0.0, "imputed", "accuracy", why="ValueError: boom"),
        score("a", None, "not_applicable", "documents", why="ValueError: boom"),
    ]
    made = [one.model_copy(update={"repeat": repeat}) for one in failed for repeat in (0, 1)]
    records = {("a", 0): record("a", ok=False), ("a", 1): record("a", repeat=1)}
    fitting = read_back(tmp_path, made).fitting(answered(records))
    assert fitting.by_measure["documents"].states.tolist() == [[NOT_APPLICABLE, MISSING]]


def test_no_number_that_a_file_claims_is_too_large() -> None:
    far = [score("t0", 1.0).model_copy(update={"repeat": repeat}) for repeat in (2**70, -(2**70), -1)]
    asked = frame({"t": 1})
    assert dict(scored_values(asked, ScoreColumns.of(asked, [*far, score("t0", 0.5)]))["m"]) == {"t0": 0.5}


def test_two_scores_of_one_answer_are_refused() -> None:
    with pytest.raises(StoreError, match="two scores of 'm' for query 't1'"):
        ScoreColumns.of(frame({"t": 2}), [score("t1", 1.0), score("t0", 1.0), score("t1", 0.0)])


def test_the_scores_of_other_queries_have_their_order_and_nothing_for_what_was_not_asked() -> None:
    of_two = columns([score("a", 0.25), score("b", 0.5)]).over(["b", "c", "a"])
    assert of_two.by_measure["m"].states.tolist() == [[SCORED], [NONE], [SCORED]]
    assert of_two.by_measure["m"].values[[0, 2]].tolist() == [[0.5], [0.25]]


def test_numbers_by_query_are_a_mapping_without_what_is_not_known() -> None:
    by_query = QueryValues({"a": 0, "b": 1, "c": 2}, np.array([1.0, np.nan, 0.5]), frozenset("abc"))
    assert by_query == {"a": 1.0, "c": 0.5}
    assert (list(by_query), len(by_query), "b" in by_query, by_query.get("x")) == (["a", "c"], 2, False, None)
    assert by_query.at(["c", "x", "a", "b"], missing=0.0).tolist() == [0.5, 0.0, 1.0, 0.0]


# How queries came about: what they cite, and what each stands for.


def citing(query_id: str, *doc_ids: str) -> Reference:
    evidence = tuple(Evidence(doc_id=doc_id, fact="It is so.") for doc_id in doc_ids)
    return Reference(query_id=query_id, query_type="t", answers=("Yes",), evidence=evidence)


def test_a_query_belongs_to_the_document_that_most_queries_cite() -> None:
    references = [
        citing("q1", "rare", "popular", "rare"),
        citing("q2", "popular"),
        citing("q3", "b", "a"),
        citing("q4"),
        citing("q5"),
    ]
    assert clusters_of(references) == {
        "q1": "document/popular",
        "q2": "document/popular",
        "q3": "document/a",
        "q4": "query/q4",
        "q5": "query/q5",
    }
    assert clusters_of(references[::-1]) == clusters_of(references)


def test_weights_are_1_on_average_and_sum_to_the_mix_by_type() -> None:
    types = {"q1": "a", "q2": "b", "q3": "b", "q4": "b"}
    found = known(SamplingDesign(types, {"a": 60, "b": 40}).weights(list(types), list(types), list(types)))
    assert found.sum() == 4.0
    assert found[0] / found.sum() == pytest.approx(0.6)


def test_queries_of_one_type_have_one_number_and_without_a_type_there_is_none() -> None:
    design = SamplingDesign({"a0": "a", "b0": "b", "a1": "a"})
    numbers = known(design.type_numbers(["a1", "b0", "a0"]))
    assert numbers[0] == numbers[2] != numbers[1]
    assert design.type_numbers(["a0", "gone"]) is None
