"""Every figure of a group: drawn, written as SVG and PNG, and made ready for the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.report.figures.accuracy import draw_accuracy
from harness.report.figures.bertscore import draw_bertscore
from harness.report.figures.break_even import draw_break_even
from harness.report.figures.graph_scores import draw_graph_scores
from harness.report.figures.index_cost import draw_index_cost
from harness.report.figures.judged import draw_judged
from harness.report.figures.latency import draw_latency
from harness.report.figures.pareto import draw_pareto
from harness.report.figures.refusals import draw_refusals
from harness.report.figures.resources import draw_resources
from harness.report.figures.resources_summary import draw_resources_summary
from harness.report.figures.retrieval import draw_retrieval
from harness.report.figures.significance import draw_significance
from harness.report.figures.tokens import draw_tokens
from harness.report.findings import Findings
from harness.report.nouns import Picture
from harness.report.plotting import Drawing, plotting, publish
from harness.report.sweeps import draw_sweeps
from harness.report.view import Group

if TYPE_CHECKING:
    from harness.report.plotting import NewFigure


_OF_GROUP: tuple[tuple[str, Callable[[Group, NewFigure], list[Drawing]]], ...] = (
    ("answer", draw_pareto),
    ("accuracy", draw_accuracy),
    ("refusals", draw_refusals),
    ("retrieval", draw_retrieval),
    ("bertscore", draw_bertscore),
    ("judged", draw_judged),
    ("graph-scores", draw_graph_scores),
    ("latency", draw_latency),
    ("tokens", draw_tokens),
    ("index", draw_index_cost),
    ("break-even", draw_break_even),
    ("resources", draw_resources_summary),
    ("resources", draw_resources),
)
"""Section -> what draws its figures."""
_OF_FINDINGS: tuple[tuple[str, Callable[[Group, Findings, NewFigure], list[Drawing]]], ...] = (
    ("significance", draw_significance),
    ("sweep", draw_sweeps),
)
"""Likewise, of what the comparison found."""


def draw_pictures(group: Group, findings: Findings, out: Path, end: str = "") -> Mapping[str, list[Picture]]:
    """Section key -> its pictures, their files in `out`/figures; `end` closes every file name."""
    pictures: dict[str, list[Picture]] = {}
    with plotting() as new_figure:
        for key, drawing in _drawn(group, findings, new_figure):
            named = replace(drawing, stem=f"{drawing.stem}{end}")
            pictures.setdefault(key, []).append(publish(named, out))
    return pictures


def _drawn(group: Group, findings: Findings, new_figure: NewFigure) -> Iterator[tuple[str, Drawing]]:
    """One kind after the other, so that only its own figures are held in memory."""
    for key, draw in _OF_GROUP:
        yield from ((key, drawing) for drawing in draw(group, new_figure))
    for key, compare in _OF_FINDINGS:
        yield from ((key, drawing) for drawing in compare(group, findings, new_figure))
