"""Checks of an evaluator's spec and metrics."""

from __future__ import annotations

from collections import Counter
from typing import get_args

from harness.protocols import EvaluatorRole, Measure
from harness.registry import EVALUATORS
from harness.testing.evaluators.fake_judge_evaluation import ChosenEvaluator
from harness.testing.evaluators.measures import mistakes, named_by
from harness.testing.evaluators.under_test import EvaluatorUnderTest
from harness.testing.spec_checks import check_params, check_presentation


class EvaluatorPresentation(EvaluatorUnderTest):
    """The spec of an evaluator."""

    def test_it_presents_itself(self, evaluator: ChosenEvaluator) -> None:
        """A registered name, a version, a one-line summary, known roles."""
        spec = evaluator.spec
        why = "the version is stored with every score"
        check_presentation(spec, self.name, listed="evaluators", why_version=why)
        assert spec.roles <= set(get_args(EvaluatorRole)), f"roles must be among {get_args(EvaluatorRole)}"

    def test_its_parameters_have_defaults_and_refuse_what_they_do_not_know(
        self, evaluator: ChosenEvaluator
    ) -> None:
        """Missing parameters have defaults; misspelled ones are errors."""
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
        lost = {measure.name: name for measure in measures for name in named_by(measure) if name not in known}
        assert not lost, f"metrics that refer to an unknown metric: {lost}"
