"""The contract suite for evaluators."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import get_args

import pytest

from harness.core.records import Score
from harness.protocols import Evaluator, EvaluatorRole, Measure, RunFacts, ScoringInput, Side
from harness.registry import EVALUATORS
from harness.testing.checks import check_params, check_presentation
from harness.testing.evaluators.under_test import (
    ChosenEvaluator,
    EvaluatorUnderTest,
    FirstEvaluation,
    QueryMeasure,
    by_key,
    references_without_a_side,
)
from harness.testing.guarding import still_open

ROOT = Path("/")
NO_GENERATOR = RunFacts(has_generator=False)
NO_CONTEXTS = RunFacts(has_contexts=False)
NO_EVIDENCE = RunFacts(has_evidence=False)


def mistakes(measure: Measure) -> Iterator[str]:
    """The faults of a metric's definition, each as a sentence that begins with its name."""
    for problem in (*_words(measure), *_values(measure), *_labels(measure)):
        yield f"'{measure.name}' {problem}"


def _words(measure: Measure) -> Iterator[str]:
    if not re.fullmatch(r"\S+", measure.name):
        yield "needs a name without white space: it is used in files, flags and columns"
    for what, text in (("title", measure.title), ("section", measure.section)):
        if text != " ".join(text.split()):
            yield f"needs a {what} on one line, without white space around it, not {text!r}"
    if not measure.summary.strip() or "\n" in measure.summary:
        yield "needs a summary: one sentence, on one line"
    if measure.panel and not re.fullmatch(r"[\w.-]+", measure.panel.figure.stem):
        yield f"needs a figure whose stem is a file's name, not {measure.panel.figure.stem!r}"


def _labels(measure: Measure) -> Iterator[str]:
    names = [label.name for label in measure.labels]
    if not names:
        if measure.failure_label:
            yield f"labels a failure '{measure.failure_label}', and has no labels"
        return
    if not measure.binary:
        yield "has labels for answers with value 1, so it must be binary"
    for name in names:
        if not re.fullmatch(r"[a-z0-9-]+", name):
            yield f"has the label {name!r}: small letters, digits and dashes"
    if len(set(names)) < len(names):
        yield "has a duplicate label"
    if measure.failure_value and measure.failure_label not in names:
        yield f"labels a failure '{measure.failure_label}', which is not one of its labels"


def _values(measure: Measure) -> Iterator[str]:
    unknown: Collection[str] = set(measure.reads) - set(get_args(Side))
    if unknown or not measure.reads:
        yield f"must read some of {get_args(Side)}, not {sorted(measure.reads)}"
    if measure.unit not in {"", "%"}:
        yield f"has the unit {measure.unit!r}: '%' for a share, or none"
    if measure.queries not in {"all", "answerable", "worded", "null"}:
        yield f"applies to {measure.queries!r} queries: all, answerable, worded or null"
    if measure.failure_value is not None and not math.isfinite(measure.failure_value):
        yield f"must count a failure as a number, not {measure.failure_value}"
    span = (0.0, 1.0) if measure.binary else measure.range
    if span is None:
        return
    low, high = span
    worst = low if measure.higher_is_better else high
    # A cosine below 0 is treated as 0: the texts have nothing in common, as with a failed answer.
    allowed = {worst, 0.0} if low < 0 < high else {worst}
    if not low < high:
        yield f"has the range {low:g} to {high:g}"
    elif measure.failure_value is not None and measure.failure_value not in allowed:
        yield f"counts a failure as {measure.failure_value:g}: its worst value is {worst:g}"


class EvaluatorContract(EvaluatorUnderTest):
    """The contract of every evaluator. Subclass it with a name that begins with `Test`, and set `name`.

    ```python
    class TestOverlap(EvaluatorContract):
        name = "overlap"
    ```
    Judge and embedder are fakes.
    """

    def test_it_presents_itself(self, evaluator: ChosenEvaluator) -> None:
        spec = evaluator.spec
        why = "the version is stored with every score"
        check_presentation(spec, self.name, listed="evaluators", why_version=why)
        assert spec.roles <= set(get_args(EvaluatorRole)), f"roles must be among {get_args(EvaluatorRole)}"

    def test_its_parameters_have_defaults_and_refuse_what_they_do_not_know(
        self, evaluator: ChosenEvaluator
    ) -> None:
        check_params(evaluator.spec.params)

    def test_every_measure_describes_itself(self, measures: tuple[Measure, ...]) -> None:
        """Titles and summaries that a report can show; a failure counts as the worst value."""
        assert measures, "it has no metric"
        wrong = [mistake for measure in measures for mistake in mistakes(measure)]
        assert not wrong, "; ".join(wrong)

    def test_a_measure_has_a_name_that_no_other_has(
        self, evaluator: ChosenEvaluator, measures: tuple[Measure, ...]
    ) -> None:
        """Unique among all registered evaluators, because one run may have all scores."""
        twice = [name for name, times in Counter(measure.name for measure in measures).items() if times > 1]
        assert not twice, f"named twice: {twice}"
        others = [spec for spec in EVALUATORS.load_all()[0] if spec.name != evaluator.spec.name]
        taken = {one.name: spec.name for spec in others for one in spec.measures(spec.params())}
        clashes = {measure.name: taken[measure.name] for measure in measures if measure.name in taken}
        assert not clashes, f"another evaluator has metrics with these names: {clashes}"

    def test_a_measure_that_another_names_exists(self, measures: tuple[Measure, ...]) -> None:
        """Its twin, perhaps of another evaluator, and the metrics of its panel."""
        specs = EVALUATORS.load_all()[0]
        known = {one.name for spec in specs for one in spec.measures(spec.params())}
        known |= {measure.name for measure in measures}
        named = {measure.name: (measure.twin_of, measure.panel and measure.panel.repeats) for measure in measures}
        lost = {measure: name for measure, names in named.items() for name in names if name and name not in known}
        assert not lost, f"metrics that refer to an unknown metric: {lost}"

    def test_each_measure_of_each_case_has_one_score(self, first: FirstEvaluation) -> None:
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
        reasons = {score.measure: score.explanation for score in first.scores}
        names = [measure.name for measure in measures if measure.name not in valued]
        silent = {name: reasons.get(name, "it does not apply to any answer") for name in names}
        assert not silent, f"metrics that never have a value: {silent}"

    def test_the_same_records_have_the_same_scores_in_any_order(
        self, evaluator: ChosenEvaluator, first: FirstEvaluation, tmp_path: Path
    ) -> None:
        """In reverse order, in two parts, with a new journal."""
        half = len(first.cases) // 2
        backwards = first.cases[::-1]
        with evaluator.opened(tmp_path) as evaluation:
            again = [*evaluation.scores(backwards[:half]), *evaluation.scores(backwards[half:])]
        assert _outcomes(again) == _outcomes(first.scores), "scores depend on the order of the records"

    def test_no_case_is_no_score(self, evaluator: ChosenEvaluator, tmp_path: Path) -> None:
        with evaluator.opened(tmp_path) as evaluation:
            assert evaluation.scores([]) == [], "scores without a case"

    def test_what_applies_is_decided_by_the_gold_side_alone(
        self,
        evaluator: ChosenEvaluator,
        measures: tuple[Measure, ...],
        answered: list[ScoringInput],
        first: FirstEvaluation,
        tmp_path: Path,
    ) -> None:
        """Checked before and after scoring, so that failed queries stay in the denominator."""
        with evaluator.opened(tmp_path) as evaluation:
            before = _applying(evaluation.evaluator, answered, measures)
            evaluation.scores(first.cases[:2])
            after = _applying(evaluation.evaluator, answered, measures)
        assert before == after, "applicability has changed after scoring"

    def test_a_measure_applies_where_it_says_so(
        self,
        evaluator: ChosenEvaluator,
        measures: tuple[Measure, ...],
        answered: list[ScoringInput],
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
            evaluation.scores(first.cases[:1])
        assert still_open(ROOT, besides=before) == [], "after close() files are still open"

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
            again = evaluation.scores(first.cases)
            paid = evaluation.meter.paid
        assert not paid, f"the judge was called again for the same records: {paid}"
        assert _outcomes(again) == _outcomes(first.scores), "replayed calls must give the same scores"

    def test_a_judge_that_fails_gives_no_value(
        self, evaluator: ChosenEvaluator, first: FirstEvaluation, tmp_path: Path
    ) -> None:
        """A failed score with its reason, never a zero. Scores that need no judge stay."""
        if "judge" not in evaluator.spec.roles:
            pytest.skip("it does not use a judge")
        with evaluator.opened(tmp_path, fault="http_500") as evaluation:
            scores = by_key(evaluation.scores(first.cases))
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


def _outcomes(scores: Sequence[Score]) -> dict[QueryMeasure, tuple[str, float | None, str]]:
    return {key: (score.status, score.value, score.explanation) for key, score in by_key(scores).items()}


def _applying(
    evaluator: Evaluator, answered: Sequence[ScoringInput], measures: Sequence[Measure]
) -> dict[QueryMeasure, str]:
    return {
        (one.query.query_id, measure.name): evaluator.not_applicable(one.reference, measure, RunFacts())
        for one in answered
        for measure in measures
    }
