"""Exactly one score for every (query, repeat, measure), whatever goes wrong."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from records import run_record
from scoring import record, reference, score_all, score_run_answers

from harness.core.errors import ModelUnavailable
from harness.core.records import Context, Prediction, Query, Reference, RunRecord, Score
from harness.evaluators.run_scoring import NO_CONTEXTS, NO_GENERATOR, NO_RECORD, NO_REFERENCE, Scorer
from harness.evaluators.score_preconditions import score_without_reading, why_not
from harness.protocols import Measure, RunFacts, ScoringInput, Side

from .conftest import MakeRun

LENGTH = Measure("length", "characters", failure_value=-1.0)


class LengthEvaluator:
    """Scores the length of an answer; raises on "raise", leaves out "skip"."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def not_applicable(self, reference: Reference, measure: Measure, run: RunFacts) -> str:
        return "not asked" if reference.query_type == "other" else ""

    async def evaluate(self, cases: Sequence[ScoringInput]) -> list[Score]:
        self.batches.append(len(cases))
        return list(self.scores(cases))

    def scores(self, cases: Sequence[ScoringInput]) -> Iterator[Score]:
        for case in cases:
            answer = case.prediction.answer
            if answer == "raise":
                raise KeyError("no such entity")
            if answer != "skip":
                yield self.score(case.record.query_id, case.record.repeat, float(len(answer or "")))

    def close(self) -> None:
        pass

    def score(self, query_id: str, repeat: int, value: float, measure: str = "length") -> Score:
        return Score(query_id=query_id, repeat=repeat, measure=measure, status="scored", value=value)


def scored(
    evaluator: LengthEvaluator,
    references: Sequence[Reference],
    records: Mapping[tuple[str, int], RunRecord],
    repeats: int = 1,
    measure: Measure = LENGTH,
) -> list[Score]:
    return score_all(Scorer("length", (measure,), evaluator), references, records, repeats)


def test_a_failed_query_has_the_failure_value_and_one_without_a_record_is_missing() -> None:
    records = {("q1", 0): record("q1", error="boom")}
    failed, missing = scored(LengthEvaluator(), [reference("q1"), reference("q2")], records)
    assert (failed.status, failed.value, failed.explanation) == ("imputed", -1.0, "ValueError: boom")
    assert (missing.status, missing.value, missing.explanation) == ("missing", None, NO_RECORD)


def test_an_error_fails_its_own_score_alone() -> None:
    evaluator = LengthEvaluator()
    records = {(name, 0): record(name, answer) for name, answer in (("a", "x"), ("b", "raise"), ("c", "xyz"))}
    scores = scored(evaluator, [reference(name) for name in "abc"], records, 1)
    assert [(score.status, score.value) for score in scores] == [
        ("scored", 1.0),
        ("failed", None),
        ("scored", 3.0),
    ]
    assert scores[1].explanation == "KeyError: 'no such entity'"
    assert evaluator.batches == [3, 1, 1, 1]


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ((("length", 1.0), ("other", 1.0)), "other"),
        ((("length", 1.0), ("length", 0.0)), "twice"),
        ((("length", 0.5),), "binary"),
        ((), "the judge is down: start it"),
    ],
)
def test_broken_contracts_and_unavailable_models_fail_with_the_reason(
    returned: Sequence[tuple[str, float]], said: str
) -> None:
    class Broken(LengthEvaluator):
        async def evaluate(self, cases: Sequence[ScoringInput]) -> list[Score]:
            if not returned:
                raise ModelUnavailable("the judge is down", "start it")
            return [self.score("q1", 0, value, name) for name, value in returned]

    binary = Measure("length", "", failure_value=0.0, binary=True)
    (score,) = scored(Broken(), [reference("q1")], {("q1", 0): record("q1", "x")}, measure=binary)
    assert (score.status, score.value) == ("failed", None)
    assert said in score.explanation


def test_an_impossible_value_fails_its_score_alone() -> None:
    evaluator = LengthEvaluator()
    bounded = Measure("length", "", failure_value=0.0, range=(0.0, 3.0))
    records = {("a", 0): record("a", "abc"), ("b", 0): record("b", "abcd")}
    kept, lost = scored(evaluator, [reference("a"), reference("b")], records, measure=bounded)
    assert (kept.value, lost.status) == (3.0, "failed")
    assert lost.explanation == "the value 4 is not within 0 and 3"
    assert evaluator.batches == [2]


def test_an_evaluator_gets_only_cases_to_which_its_metrics_apply() -> None:
    evaluator = LengthEvaluator()
    records = {("a", 0): record("a", "x"), ("b", 0): record("b", error="boom"), ("c", 0): record("c", "x")}
    scores = scored(evaluator, [reference("a", query_type="other"), reference("b", query_type="other")], records)
    assert [(score.status, score.explanation) for score in scores] == [("not_applicable", "not asked")] * 2
    assert evaluator.batches == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(
    answers=st.lists(st.sampled_from(["x", "raise", "skip", "error", "missing"]), min_size=1, max_size=6),
    repeats=st.integers(1, 3),
)
def test_every_query_repeat_and_measure_has_exactly_one_score(answers: list[str], repeats: int) -> None:
    names = [f"q{number}" for number in range(len(answers))]
    records = {
        (name, repeat): record(name, repeat=repeat, error="boom")
        if answer == "error"
        else record(name, answer, repeat=repeat)
        for name, answer in zip(names, answers, strict=True)
        for repeat in range(repeats)
        if answer != "missing"
    }
    scores = scored(LengthEvaluator(), [reference(name) for name in names], records, repeats)
    assert [(score.query_id, score.repeat) for score in scores] == [(n, r) for n in names for r in range(repeats)]


def test_without_a_generator_no_score_of_answers_applies_not_even_to_a_failed_query(make_run: MakeRun) -> None:
    references, records = [reference(one, "Yes") for one in "abc"], [record("a", None), record("b", error="boom")]
    run = make_run(references, records, models={"generator": {"provider": "none"}})
    assert {(one.status, one.explanation) for one in score_run_answers(run)} == {("not_applicable", NO_GENERATOR)}


def test_a_large_run_scored_in_parts_has_the_same_scores_and_bytes(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["d", "b", "e", "a", "c"]
    answers = [record(name, "yes") for name in names if name != "b"]
    run = make_run([reference(name, "Yes") for name in names], answers, repeats=2)
    whole = score_run_answers(run)
    assert [one.status for one in whole if one.measure == "accuracy"][:4] == ["scored", *["missing"] * 3]
    written = (run.path / "scores" / "answer.jsonl").read_bytes()
    monkeypatch.setattr("harness.evaluators.run_answers.PART", 4)
    assert score_run_answers(run) == whole
    assert (run.path / "scores" / "answer.jsonl").read_bytes() == written


Queries = Literal["all", "answerable", "worded", "null"]
MEASURE = Measure(
    name="m",
    summary="",
    failure_value=0.0,
    reads=frozenset({"question", "answer", "contexts", "reference"}),
    queries="answerable",
)
NULL = ("Insufficient information.",)


def reading(*sides: Side, queries: Queries = "answerable") -> Measure:
    return replace(MEASURE, reads=frozenset(sides), queries=queries)


def gold(*answers: str) -> Reference:
    return Reference(query_id="q", query_type="t", answers=answers)


def case(answer: str, *contexts: str) -> ScoringInput:
    prediction = Prediction(answer=answer, contexts=tuple(Context(text=text, doc_ids=()) for text in contexts))
    return ScoringInput(Query(query_id="q", text="?"), gold("Yes"), run_record("q", prediction), (MEASURE,))


@pytest.mark.parametrize(
    ("measure", "answers", "run", "expected"),
    [
        (reading("answer"), ("Yes",), RunFacts(has_generator=False), NO_GENERATOR),
        (reading("contexts"), ("Yes",), RunFacts(has_contexts=False), NO_CONTEXTS),
        (reading("reference"), ("  ",), RunFacts(), NO_REFERENCE),
        (reading("question"), (), RunFacts(has_generator=False, has_contexts=False), ""),
        (reading("answer"), ("Yes",), RunFacts(), ""),
        (reading("answer"), NULL, RunFacts(), "the query is a null query"),
        (reading("answer", queries="all"), NULL, RunFacts(), ""),
        (reading("answer", queries="null"), NULL, RunFacts(), ""),
        (reading("answer", queries="null"), ("Yes",), RunFacts(), "the query is answerable"),
        (reading("answer", queries="worded"), ("Yes",), RunFacts(), "the right answer is a bare yes or no"),
    ],
)
def test_a_measure_applies_to_its_queries_if_the_texts_that_it_reads_are_there(
    measure: Measure, answers: tuple[str, ...], run: RunFacts, expected: str
) -> None:
    assert why_not(measure, gold(*answers), run) == expected


@pytest.mark.parametrize(
    ("answer", "contexts", "is_wrong", "status"),
    [
        ("  ", ("a text",), False, "scored"),
        ("Insufficient information.", ("a text",), False, "not_applicable"),
        ("I don't know.", ("a text",), True, "scored"),
        ("Apple", (), False, "scored"),
        ("Apple", (" ", "\n"), False, "scored"),
    ],
)
@pytest.mark.parametrize("worst", [0.0, 1.0])
def test_an_empty_text_and_a_wrong_abstention_have_the_failure_value(
    answer: str, contexts: tuple[str, ...], is_wrong: bool, status: str, worst: float
) -> None:
    measure = replace(MEASURE, failure_value=worst, higher_is_better=not worst)
    score = score_without_reading(case(answer, *contexts), measure, abstention_is_wrong=is_wrong)
    assert score is not None
    assert (score.status, score.value) == (status, worst if status == "scored" else None)
