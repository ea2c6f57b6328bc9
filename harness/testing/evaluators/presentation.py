"""How it presents itself and its measures."""

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
    """Its spec."""

    def test_it_presents_itself(self, evaluator: ChosenEvaluator) -> None:
        """A name that is the registered one, a version, one line, roles that there are."""
        spec = evaluator.spec
        why = "a version stands beside every score"
        check_presentation(spec, self.name, listed="evaluators", why_version=why)
        assert spec.roles <= set(get_args(EvaluatorRole)), f"roles are {get_args(EvaluatorRole)}"

    def test_its_parameters_have_defaults_and_refuse_what_they_do_not_know(
        self, evaluator: ChosenEvaluator
    ) -> None:
        """Missing parameters have defaults; misspelled ones are errors."""
        check_params(evaluator.spec.params)

    def test_every_measure_describes_itself(self, measures: tuple[Measure, ...]) -> None:
        """In words that a report can show; a failure counts as the worst value."""
        assert measures, "it measures nothing"
        wrong = [mistake for measure in measures for mistake in mistakes(measure)]
        assert not wrong, "; ".join(wrong)

    def test_a_measure_has_a_name_that_no_other_has(
        self, evaluator: ChosenEvaluator, measures: tuple[Measure, ...]
    ) -> None:
        """Among those of all registered evaluators, since one run may have the scores of all."""
        twice = [name for name, times in Counter(measure.name for measure in measures).items() if times > 1]
        assert not twice, f"named twice: {twice}"
        others = [spec for spec in EVALUATORS.load_all()[0] if spec.name != evaluator.spec.name]
        taken = {one.name: spec.name for spec in others for one in spec.measures(spec.params())}
        clashes = {measure.name: taken[measure.name] for measure in measures if measure.name in taken}
        assert not clashes, f"another evaluator has measures of these names: {clashes}"

    def test_a_measure_that_another_names_exists(self, measures: tuple[Measure, ...]) -> None:
        """Its twin, perhaps of another evaluator, and those that its panel is drawn with."""
        specs = EVALUATORS.load_all()[0]
        known = {one.name for spec in specs for one in spec.measures(spec.params())}
        known |= {measure.name for measure in measures}
        lost = {measure.name: name for measure in measures for name in named_by(measure) if name not in known}
        assert not lost, f"measures that name one which no registered evaluator has: {lost}"
