"""Checks the definition of a metric."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from typing import get_args

from harness.protocols import Measure, Side


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
