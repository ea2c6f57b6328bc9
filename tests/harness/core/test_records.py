"""The records: frozen, strict, without NaN, and the same after a trip through JSON."""

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
    Usage, calls=COUNTS, input_tokens=COUNTS, output_tokens=COUNTS, cached_tokens=COUNTS, unmetered_calls=COUNTS
)
COSTS = st.builds(
    Cost,
    wall_s=SECONDS,
    stages_s=st.dictionaries(TEXTS, SECONDS),
    usage=st.dictionaries(TEXTS, USAGES, max_size=2),
)
CONTEXTS = st.builds(
    Context,
    text=TEXTS,
    doc_ids=st.lists(TEXTS, max_size=3).map(tuple),
    triplets=st.lists(st.builds(Triplet, TEXTS, TEXTS, TEXTS), max_size=2).map(tuple),
    score=st.none() | FLOATS,
    span=st.none() | st.builds(Span, doc_id=TEXTS, start=COUNTS, end=COUNTS),
)
PREDICTIONS = st.builds(
    Prediction,
    answer=st.none() | TEXTS,
    contexts=st.lists(CONTEXTS, max_size=3).map(tuple),
    trace=st.lists(st.builds(Step, name=TEXTS, content=TEXTS), max_size=2).map(tuple),
)
OWN = {"query_id": TEXTS, "repeat": COUNTS, "cost": COSTS, "attempt": COUNTS, "started_at": TEXTS}
ANSWERED = st.builds(RunRecord, status=st.just("ok"), prediction=PREDICTIONS, failure=st.none(), **OWN)
FAILURES = st.builds(Failure, kind=TEXTS, message=TEXTS)
FAILED = st.builds(RunRecord, status=st.just("timeout"), prediction=st.none(), failure=FAILURES, **OWN)


def score(**changes: Any) -> dict[str, Any]:
    return {"query_id": "q1", "repeat": 0, "measure": "em", "status": "scored", "value": 1.0, **changes}


def test_a_query_has_no_field_for_gold_data() -> None:
    assert set(Query.model_fields) == {"query_id", "text"}


@pytest.mark.parametrize("kind", [Document, Query, Reference, Context, Prediction, Usage, Cost, RunRecord, Score])
def test_an_unknown_field_is_refused_by_every_record(kind: type[Record]) -> None:
    with pytest.raises(ValidationError, match="extra_forbidden"):
        kind.model_validate({"no_such_field": 1})


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (Query, {"query_id": 1, "text": "who?"}),
        (Usage, {"calls": 3.0}),
        (Usage, {"calls": True}),
        (Cost, {"wall_s": "1.5"}),
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
        lambda: Cost(wall_s=1.0, stages_s={"retrieve": number}),
        lambda: Context(text="t", doc_ids=(), score=number),
        lambda: Score(**score(value=number)),
    ):
        with pytest.raises(ValidationError, match="finite"):
            build()
    with pytest.raises(ValidationError):
        Cost.model_validate_json(f'{{"wall_s": {str(number).replace("inf", "Infinity").replace("nan", "NaN")}}}')


@pytest.mark.parametrize(
    "changes",
    [
        {"prediction": None},
        {"failure": Failure(kind="ValueError", message="no")},
        {"status": "timeout"},
        {"status": "error", "prediction": None},
        {"status": "error", "failure": Failure(kind="ValueError", message="no")},
    ],
)
def test_a_run_record_has_a_prediction_or_a_failure_never_both_or_none(changes: Mapping[str, Any]) -> None:
    fields: dict[str, Any] = {
        **{"query_id": "q1", "repeat": 0, "status": "ok", "prediction": Prediction(answer="yes")},
        **{"cost": Cost(wall_s=1.0), "attempt": 1, "started_at": "2026-01-01T00:00:00+00:00"},
    }
    assert RunRecord(**fields)
    with pytest.raises(ValidationError, match="a prediction if its status is ok, otherwise a failure"):
        RunRecord(**{**fields, **changes})


@pytest.mark.parametrize(
    ("status", "value"),
    [("scored", None), ("imputed", None), ("failed", 0.0), ("missing", 0.0), ("not_applicable", 0.0)],
)
def test_a_score_has_a_value_exactly_if_it_counts(status: str, value: float | None) -> None:
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
@given(
    ANSWERED
    | FAILED
    | st.builds(Document, doc_id=TEXTS, text=TEXTS, title=TEXTS, metadata=st.dictionaries(TEXTS, TEXTS))
    | FLOATS.map(lambda value: Score(**score(value=value)))
)
def test_a_record_comes_back_from_one_line_of_json_exactly(record: Record) -> None:
    text = record.model_dump_json()
    assert "\n" not in text
    assert type(record).model_validate_json(text) == record


def test_locations_in_an_unknown_document_are_refused() -> None:
    assert [*Places(doc_ids=("a",), at="0:1-5").spans] == [("a", 1, 5)]
    with pytest.raises(ValidationError, match="refers to an unknown document"):
        Places(doc_ids=("a",), at="0:1-5 1:0-3")
