"""Checks of an evaluator's scores, of applicability, and of model calls."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.core.records import Score
from harness.protocols import Evaluator, Measure, RunFacts
from harness.testing.evaluators.cases import AnsweredQuery, references_without_a_side
from harness.testing.evaluators.fake_judge_evaluation import ChosenEvaluator, QueryMeasure, by_key
from harness.testing.evaluators.under_test import EvaluatorUnderTest, FirstEvaluation
from harness.testing.guarding import still_open

ROOT = Path("/")
NO_GENERATOR = RunFacts(has_generator=False)
NO_CONTEXTS = RunFacts(has_contexts=False)
NO_EVIDENCE = RunFacts(has_evidence=False)


class EvaluatorScoring(EvaluatorUnderTest):
    """Every metric of every case gets a score."""

    def test_each_measure_of_each_case_has_one_score(self, first: FirstEvaluation) -> None:
        """For exactly the given cases."""
        asked = {(case.record.query_id, measure.name) for case in first.cases for measure in case.measures}
        given = Counter((score.query_id, score.measure) for score in first.scores)
        assert not asked - given.keys(), f"no score: {sorted(asked - given.keys())[:3]}"
        assert not given.keys() - asked, f"scores that were not requested: {sorted(given.keys() - asked)[:3]}"
        twice = [key for key, times in given.items() if times > 1]
        assert not twice, f"scored twice: {twice[:3]}"

    def test_a_score_is_a_value_that_can_be_or_says_why_there_is_none(
        self, first: FirstEvaluation, measures: tuple[Measure, ...]
    ) -> None:
        """Within the metric's range. Only the harness sets `imputed` and `missing`."""
        known = {measure.name: measure for measure in measures}
        for score in first.scores:
            said = f"'{score.measure}' of '{score.query_id}'"
            assert score.status in {"scored", "failed", "not_applicable"}, f"{said} is '{score.status}'"
            assert score.value is not None or score.explanation.strip(), f"{said}: no value, and no reason"
            assert "\n" not in score.explanation, f"{said}: the explanation must be one line"
            if score.value is not None:
                _check_value(known[score.measure], score.value, said)

    def test_every_measure_has_a_value_somewhere(
        self, first: FirstEvaluation, measures: tuple[Measure, ...]
    ) -> None:
        """Among correct, wrong, abstaining, empty and unusual answers."""
        valued = {score.measure for score in first.scores if score.value is not None}
        reasons = {score.measure: score.explanation for score in first.scores if score.measure not in valued}
        silent = {
            measure.name: reasons.get(measure.name, "it does not apply to any answer") for measure in measures
        }
        silent = {name: reason for name, reason in silent.items() if name not in valued}
        assert not silent, f"metrics that never have a value: {silent}"

    def test_the_same_records_have_the_same_scores_in_any_order(
        self, evaluator: ChosenEvaluator, first: FirstEvaluation, tmp_path: Path
    ) -> None:
        """In reverse order, in two parts, with a new journal."""
        half = len(first.cases) // 2
        backwards = first.cases[::-1]
        with evaluator.opened(tmp_path) as evaluation:
            again = [
                *asyncio.run(evaluation.scores(backwards[:half])),
                *asyncio.run(evaluation.scores(backwards[half:])),
            ]
        assert _values(again) == _values(first.scores), "the same records in another order have different scores"

    def test_no_case_is_no_score(self, evaluator: ChosenEvaluator, tmp_path: Path) -> None:
        with evaluator.opened(tmp_path) as evaluation:
            assert asyncio.run(evaluation.scores([])) == [], "scores without a case"

    def test_what_applies_is_decided_by_the_gold_side_alone(
        self,
        evaluator: ChosenEvaluator,
        measures: tuple[Measure, ...],
        answered: list[AnsweredQuery],
        first: FirstEvaluation,
        tmp_path: Path,
    ) -> None:
        """Checked before and after scoring, so that failed queries stay in the denominator."""
        with evaluator.opened(tmp_path) as evaluation:
            before = _applying(evaluation.evaluator, answered, measures)
            asyncio.run(evaluation.scores(first.cases[:2]))
            after = _applying(evaluation.evaluator, answered, measures)
        assert before == after, "applicability has changed after scoring"

    def test_a_measure_applies_where_it_says_so(
        self,
        evaluator: ChosenEvaluator,
        measures: tuple[Measure, ...],
        answered: list[AnsweredQuery],
        tmp_path: Path,
    ) -> None:
        """Not if a text that it reads is missing, and not for queries of another kind."""
        no_answer, null, _ = missing = references_without_a_side()
        own = next(one.reference for one in answered if one.query.query_id.startswith("own"))
        verdict = own.model_copy(update={"answers": ("Yes",)})
        with evaluator.opened(tmp_path) as evaluation:
            why = evaluation.evaluator.not_applicable
            for measure in measures:
                said = f"'{measure.name}' must say why it does not apply"
                if "answer" in measure.reads:
                    assert why(own, measure, NO_GENERATOR), f"{said}: it reads answers, the run has no generator"
                if "contexts" in measure.reads:
                    assert why(own, measure, NO_CONTEXTS), f"{said}: it reads contexts, the run has none"
                if "evidence" in measure.reads:
                    assert why(own, measure, NO_EVIDENCE), f"{said}: it reads evidence, the run names none"
                if "reference" in measure.reads:
                    assert why(no_answer, measure, RunFacts()), f"{said}: it reads a blank reference"
                if measure.queries in {"answerable", "worded"}:
                    assert why(null, measure, RunFacts()), f"{said}: the query is a null query"
                if measure.queries == "worded":
                    assert why(verdict, measure, RunFacts()), f"{said}: the right answer is a bare yes"
                if measure.queries == "null":
                    assert why(own, measure, RunFacts()), f"{said}: the query is answerable"
                for reference in missing:
                    reason = why(reference, measure, RunFacts())
                    assert "\n" not in reason, f"a reason is one line: {reason!r}"

    def test_closing_releases_what_was_opened(
        self, evaluator: ChosenEvaluator, first: FirstEvaluation, tmp_path: Path
    ) -> None:
        """Also if nothing was scored."""
        before = still_open(ROOT, wait_s=0)
        with evaluator.opened(tmp_path / "idle"):
            pass
        with evaluator.opened(tmp_path / "scored") as evaluation:
            asyncio.run(evaluation.scores(first.cases[:1]))
        assert still_open(ROOT, besides=before) == [], "after close() files are still open"


class EvaluatorJudging(EvaluatorUnderTest):
    """The model calls of an evaluator."""

    def test_it_asks_the_models_that_its_spec_names(
        self, evaluator: ChosenEvaluator, first: FirstEvaluation
    ) -> None:
        """A named model that is never called would be started for nothing; a call to an unnamed one raises an
        error.
        """
        assert first.roles_called == evaluator.spec.roles, "roles must name exactly the models that it calls"

    def test_what_was_judged_once_is_not_paid_again(
        self, evaluator: ChosenEvaluator, first: FirstEvaluation, journal: Path
    ) -> None:
        """Every judgement uses its own `runtime.charge()`, so the journal has the reply."""
        if "judge" not in evaluator.spec.roles:
            pytest.skip("it does not use a judge")
        with evaluator.opened(journal) as evaluation:
            again = asyncio.run(evaluation.scores(first.cases))
            paid = evaluation.meter.paid
        assert not paid, f"the judge was called again for the same records: {paid}"
        assert _values(again) == _values(first.scores), "replayed calls must give the same scores"

    def test_a_judge_that_fails_gives_no_value(
        self, evaluator: ChosenEvaluator, first: FirstEvaluation, tmp_path: Path
    ) -> None:
        """A failed score with its reason, never a zero. Scores that need no judge stay."""
        if "judge" not in evaluator.spec.roles:
            pytest.skip("it does not use a judge")
        with evaluator.opened(tmp_path, fault="http_500") as evaluation:
            scores = by_key(asyncio.run(evaluation.scores(first.cases)))
        before = by_key(first.scores)
        failed = [score for score in scores.values() if score.status == "failed"]
        assert failed, "the judge fails every time, and no score has failed"
        made_up = [key for key, score in scores.items() if score.value not in {None, before[key].value}]
        assert not made_up, f"the judge failed, but these scores have values: {made_up[:3]}"


def _check_value(measure: Measure, value: float, said: str) -> None:
    if measure.binary:
        assert value in {0.0, 1.0}, f"{said} is binary, and its value is {value}"
    elif measure.range:
        low, high = measure.range
        assert low <= value <= high, f"{said} is {value}, outside of {low:g} to {high:g}"


def _values(scores: Sequence[Score]) -> dict[QueryMeasure, tuple[str, float | None, str]]:
    return {key: (score.status, score.value, score.explanation) for key, score in by_key(scores).items()}


def _applying(
    evaluator: Evaluator, answered: Sequence[AnsweredQuery], measures: Sequence[Measure]
) -> dict[QueryMeasure, str]:
    return {
        (one.query.query_id, measure.name): evaluator.not_applicable(one.reference, measure, RunFacts())
        for one in answered
        for measure in measures
    }
