"""Checks the definition of a metric and its texts for reports."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator
from typing import get_args

from harness.protocols import EvaluatorRole, Measure, Side
from harness.registry import EVALUATORS
from harness.testing.evaluators.fake_judge_evaluation import ChosenEvaluator
from harness.testing.evaluators.under_test import EvaluatorUnderTest
from harness.testing.spec_checks import check_params, check_presentation


def mistakes(measure: Measure) -> Iterator[str]:
    """The faults of a metric's definition, each as a sentence that begins with its name."""
    for problem in (*_words(measure), *_values(measure), *_labels(measure)):
        yield f"'{measure.name}' {problem}"


def named_by(measure: Measure) -> Iterator[str]:
    """The other metrics that it names."""
    yield from filter(None, (measure.twin_of, measure.panel.repeats if measure.panel else ""))


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
