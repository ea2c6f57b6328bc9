"""Figures of measures that nobody here has heard of: a plug-in's evaluator says where and how they are drawn."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from paired_runs import FAILED, ScoredRun, Value, write_run
from plugins import PlugIn

from harness.core.records import Cost, EvaluationRecord
from harness.display import Drawing
from harness.display.plotting import plotting
from harness.report.chapter import load_chapters
from harness.report.figures.marks import style_of
from harness.report.sections import Reported
from harness.statistics.prices import load_prices

pytestmark = pytest.mark.slow  # Drawing takes about a second a figure.

GRADES = """
    from harness.protocols import EvaluatorSpec, Measure, Panel, PanelFigure, Params

    STYLE = PanelFigure("acme_style", "Style", "How well it reads")
    DEPTH = PanelFigure("acme_depth", "Depth", "How deep it goes", along="depth")

    def measure(name, panel, **more):
        return Measure(name, f"the {name}", 0.0, section="Acme grades", panel=panel, **more)

    MEASURES = (
        measure("stars", Panel(STYLE, "stars"), range=(0.0, 5.0)),
        measure("mood", Panel(STYLE, "mood"), range=(-1.0, 1.0)),
        measure("blame", None, higher_is_better=False),
        measure("depth@1", Panel(DEPTH, curve="depth", at=1)),
        measure("depth@2", Panel(DEPTH, curve="depth", at=2)),
        measure("depth@3", Panel(DEPTH, curve="depth", at=3)),
    )
    SPEC = EvaluatorSpec("acme_eval", "1", "grades", Params, lambda params: MEASURES, None)
"""
Scores = Mapping[str, Sequence[Value]]
Draw = Callable[..., dict[str, Drawing]]


@pytest.fixture
def drawn(tmp_path: Path, plug_in: PlugIn) -> Draw:
    """drawn(naive={measure: values}, ...): the figures for which the plug-in's measures ask, by stem."""
    plug_in("rag_harness.evaluators", "acme_eval", GRADES)
    made = EvaluationRecord(evaluator="acme_eval", version="1", cost=Cost(wall_s=0.0))

    def draw(**scores: Scores) -> dict[str, Drawing]:
        runs = [
            write_run(tmp_path / "results", ScoredRun(system=name, scores=own, evaluator=made))
            for name, own in scores.items()
        ]
        (chapter,) = load_chapters(runs, load_prices())
        (section,) = [spec for spec in chapter.specs if spec.title == "Acme grades"]
        with plotting() as new_figure:
            found = list(section.draw(Reported(chapter.group, chapter.findings), new_figure))
            for drawing in found:
                drawing.figure.draw_without_rendering()
        return {drawing.stem: drawing for drawing in found if drawing.stem.startswith("acme_")}

    return draw


def test_each_measure_has_a_panel_on_which_every_value_lies(drawn: Draw) -> None:
    figures = drawn(
        naive={"stars": (4.0, 5.0), "mood": (-0.5, -0.7)},
        kg={"stars": (1.0, 2.0), "mood": (0.1, 0.3)},
    )
    (drawing,) = figures.values()
    assert (drawing.stem, drawing.title) == ("acme_style", "Style")
    assert drawing.caption.startswith("How well it reads; higher is better. Dot: mean; line: 95 % interval; n = 2")
    panels = {axes.get_title(): axes for axes in drawing.figure.axes}
    assert list(panels) == ["stars\nn = 2", "mood\nn = 2"]
    for axes, means in zip(panels.values(), ((4.5, 1.5), (-0.6, 0.2)), strict=True):
        low, high = axes.get_xlim()
        for number, mean in enumerate(means):
            (dot,) = [line for line in axes.get_lines() if line.get_marker() == style_of(number).marker]
            assert np.asarray(dot.get_xdata()).tolist() == pytest.approx([mean])
            assert low < mean < high
        assert low < 0 < high


def test_points_of_one_curve_are_joined_as_far_as_anybody_has_them(drawn: Draw) -> None:
    scores = {"depth@1": (0.0, 0.2), "depth@2": (0.4, 0.4), "depth@3": (FAILED, FAILED)}
    (drawing,) = drawn(naive=scores, kg=scores).values()
    (axes,) = drawing.figure.axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2"]
    curves = [line for line in axes.get_lines() if line.get_marker() != "None"]
    assert [np.asarray(line.get_ydata()).tolist() for line in curves] == [pytest.approx([0.1, 0.4])] * 2


def test_a_measure_of_which_nobody_has_a_value_is_not_drawn(drawn: Draw) -> None:
    assert drawn(naive={"stars": (FAILED, FAILED), "blame": (1.0, 2.0)}) == {}
