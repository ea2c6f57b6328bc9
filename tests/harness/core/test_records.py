"""The nouns: frozen, strict, without NaN, and the same after a trip through JSON."""

import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.core.records import (
    Context,
    Cost,
    Document,
    Failure,
    Places,
    Prediction,
    Query,
    Record,
    Reference,
    RunRecord,
    Score,
    Span,
    Step,
    Triplet,
    Usage,
)

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SECONDS = st.floats(0, 1e10)
COUNTS = st.integers(0, 10**12)
TEXTS = st.text(max_size=40)
USAGES = st.builds(
    Usage,
    calls=COUNTS,
    input_tokens=COUNTS,
    output_tokens=COUNTS,
    cached_tokens=COUNTS,
    unmetered_calls=COUNTS,
)
COSTS = st.builds(
    Cost,
    wall_s=SECONDS,
    throttled_s=SECONDS,
    stages_s=st.dictionaries(TEXTS, SECONDS, max_size=3),
    usage=st.dictionaries(TEXTS, USAGES, max_size=2),
    cpu_s=st.none() | SECONDS,
    peak_rss_bytes=st.none() | COUNTS,
    embedded_texts=COUNTS,
    cached_texts=COUNTS,
    replayed_calls=COUNTS,
)
CONTEXTS = st.builds(
    Context,
    text=TEXTS,
    doc_ids=st.lists(TEXTS, max_size=3).map(tuple),
    kind=st.sampled_from(["passage", "triplet", "summary", "sentence"]),
    triplets=st.lists(st.builds(Triplet, TEXTS, TEXTS, TEXTS), max_size=2).map(tuple),
    score=st.none() | FLOATS,
    span=st.none() | st.builds(Span, doc_id=TEXTS, start=COUNTS, end=COUNTS),
)
PREDICTIONS = st.builds(
    Prediction,
    answer=st.none() | TEXTS,
    contexts=st.lists(CONTEXTS, max_size=3).map(tuple),
    evidence=st.lists(CONTEXTS, max_size=2).map(tuple),
    trace=st.lists(st.builds(Step, name=TEXTS, content=TEXTS), max_size=2).map(tuple),
)


def run_records(**outcome: st.SearchStrategy[Any]) -> st.SearchStrategy[RunRecord]:
    own = {"query_id": TEXTS, "repeat": COUNTS, "cost": COSTS, "attempt": COUNTS, "started_at": TEXTS}
    return st.builds(RunRecord, **own, **outcome)


ANSWERED = run_records(status=st.just("ok"), prediction=PREDICTIONS, failure=st.none())
FAILED = run_records(
    status=st.sampled_from(["error", "timeout"]),
    prediction=st.none(),
    failure=st.builds(Failure, kind=TEXTS, message=TEXTS),
)


def run_record(**changes: Any) -> dict[str, Any]:
    fields = {
        "query_id": "q1",
        "repeat": 0,
        "status": "ok",
        "prediction": Prediction(answer="yes"),
        "failure": None,
        "cost": Cost(wall_s=1.0),
        "attempt": 1,
        "started_at": "2026-01-01T00:00:00+00:00",
    }
    return {**fields, **changes}


def score(**changes: Any) -> dict[str, Any]:
    return {"query_id": "q1", "repeat": 0, "measure": "em", "status": "scored", "value": 1.0, **changes}


def test_a_query_has_no_place_for_gold() -> None:
    assert set(Query.model_fields) == {"query_id", "text"}
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        Query.model_validate({"query_id": "q1", "text": "who?", "answers": ["Ada"]})


@pytest.mark.parametrize("kind", [Document, Query, Reference, Context, Prediction, Usage, Cost, RunRecord, Score])
def test_an_unknown_field_is_refused_by_every_record(kind: type[Record]) -> None:
    with pytest.raises(ValidationError, match="extra_forbidden"):
        kind.model_validate({"no_such_field": 1})


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (Query, {"query_id": 1, "text": "who?"}),
        (Usage, {"calls": "3"}),
        (Usage, {"calls": 3.0}),
        (Usage, {"calls": True}),
        (Cost, {"wall_s": "1.5"}),
        (Span, {"doc_id": "d", "start": "0", "end": 1}),
        (Reference, {"query_id": "q", "query_type": "t", "answers": ["a list, no tuple"]}),
    ],
)
def test_a_value_of_another_type_is_refused_and_not_converted(
    kind: type[Record], fields: Mapping[str, Any]
) -> None:
    with pytest.raises(ValidationError):
        kind.model_validate(fields)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_are_refused_everywhere(number: float) -> None:
    for build in (
        lambda: Cost(wall_s=number),
        lambda: Cost(wall_s=1.0, stages_s={"retrieve": number}),
        lambda: Context(text="t", doc_ids=(), score=number),
        lambda: Score(**score(value=number)),
    ):
        with pytest.raises(ValidationError, match="finite"):
            build()


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_nan_in_a_file_is_refused_too(text: str) -> None:
    with pytest.raises(ValidationError):
        Cost.model_validate_json(f'{{"wall_s": {text}}}')


@pytest.mark.parametrize(
    "changes",
    [
        {"prediction": None},
        {"failure": Failure(kind="ValueError", message="no")},
        {"status": "error"},
        {"status": "timeout"},
        {"status": "error", "prediction": None},
        {"status": "error", "failure": Failure(kind="ValueError", message="no")},
    ],
)
def test_a_run_record_has_a_prediction_or_a_failure_never_both_or_none(changes: Mapping[str, Any]) -> None:
    with pytest.raises(ValidationError, match="a prediction if its status is ok, otherwise a failure"):
        RunRecord(**run_record(**changes))


@pytest.mark.parametrize(
    ("status", "value"),
    [("scored", None), ("imputed", None), ("failed", 0.0), ("missing", 0.0), ("not_applicable", 0.0)],
)
def test_a_score_without_a_value_where_it_counts_or_with_one_where_it_does_not_is_refused(
    status: str, value: float | None
) -> None:
    with pytest.raises(ValidationError, match="exactly if it is scored or imputed"):
        Score(**score(status=status, value=value))


def test_latency_is_wall_time_without_throttling() -> None:
    assert Cost(wall_s=5.0, throttled_s=3.5).latency_s == 1.5
    assert Cost(wall_s=5.0, throttled_s=None).latency_s == 5.0
    assert Cost(wall_s=None).latency_s is None


@pytest.mark.parametrize(
    ("usage", "is_used", "calls_are_known"),
    [
        (Usage(), False, True),
        (Usage(calls=2, input_tokens=9), True, True),
        (Usage(calls=2, unmetered_calls=2), True, True),
        (Usage(unmetered_calls=1), True, False),
        (Usage(input_tokens=9, output_tokens=1), True, False),
    ],
)
def test_usage_says_whether_its_calls_were_counted(usage: Usage, is_used: bool, calls_are_known: bool) -> None:
    assert (usage.is_used, usage.calls_are_known) == (is_used, calls_are_known)


@given(USAGES, USAGES, USAGES)
def test_usage_adds_up_field_by_field_in_any_order(a: Usage, b: Usage, c: Usage) -> None:
    total = a + b + c
    assert total == c + (b + a)
    for name in Usage.model_fields:
        assert getattr(total, name) == getattr(a, name) + getattr(b, name) + getattr(c, name)
    assert a + Usage() == a


@settings(deadline=None, max_examples=60)
@given(ANSWERED | FAILED)
def test_a_run_record_comes_back_from_json_exactly(record: RunRecord) -> None:
    text = record.model_dump_json()
    assert "\n" not in text, "one record is one line"
    assert RunRecord.model_validate_json(text) == record


@settings(deadline=None, max_examples=60)
@given(st.builds(Document, doc_id=TEXTS, text=TEXTS, title=TEXTS, metadata=st.dictionaries(TEXTS, TEXTS)))
def test_a_document_comes_back_from_json_exactly(document: Document) -> None:
    assert Document.model_validate_json(document.model_dump_json()) == document


@settings(deadline=None, max_examples=60)
@given(FLOATS)
def test_a_score_keeps_every_bit_of_its_value(value: float) -> None:
    record = Score(**score(value=value))
    assert Score.model_validate_json(record.model_dump_json()) == record


def test_places_in_a_document_that_they_do_not_name_are_none() -> None:
    assert [*Places(doc_ids=("a",), at="0:1-5").spans] == [("a", 1, 5)]
    with pytest.raises(ValidationError, match="refers to an unknown document"):
        Places(doc_ids=("a",), at="0:1-5 1:0-3")
