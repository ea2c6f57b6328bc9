"""What the figures draw, read back from the SVG."""

import struct
from collections.abc import Callable
from pathlib import Path

from harness.report.figures.accuracy import accuracy_by_type
from harness.report.figures.resources import resources_over_time
from harness.report.plotting import PALETTE
from harness.report.view import RunView, load_groups
from harness.store import RunDir

MakeRun = Callable[..., RunDir]
SMALL = {"inference_query": 2, "null_query": 1}
SYSTEM_BLUE = PALETTE[0].lower()


def views_of(*runs: RunDir) -> tuple[RunView, ...]:
    return load_groups(runs)[0].views


def lines_in(svg: Path, color: str) -> int:
    return svg.read_text().count(f"stroke: {color}")


def test_an_interruption_and_a_new_phase_break_the_lines(make_run: MakeRun, tmp_path: Path) -> None:
    (answering,) = views_of(make_run(types=SMALL, sessions=(3,)))
    (whole,) = views_of(make_run(system="kg", types=SMALL, sessions=(12,)))
    (broken,) = views_of(make_run(system="community", types=SMALL, sessions=(12, 6)))
    figures = [resources_over_time(view, tmp_path, view.label)[0] for view in (answering, whole, broken)]
    # CPU, RAM and the legend; then a line more in each panel for the index, and one for the second session.
    assert [lines_in(figure, SYSTEM_BLUE) for figure in figures] == [3, 5, 7]


def test_a_run_without_a_model_server_draws_none(make_run: MakeRun, tmp_path: Path) -> None:
    (without,) = views_of(make_run(types=SMALL, sessions=(3,)))
    (having,) = views_of(make_run(system="kg", types=SMALL, sessions=(3,), server=True))
    assert lines_in(resources_over_time(without, tmp_path, "a")[0], PALETTE[5].lower()) == 0
    assert lines_in(resources_over_time(having, tmp_path, "b")[0], PALETTE[5].lower()) == 3


def test_one_lonely_sample_is_drawn(make_run: MakeRun, tmp_path: Path) -> None:
    (view,) = views_of(make_run(types=SMALL, sessions=(1,)))
    assert [path.suffix for path in resources_over_time(view, tmp_path, "one")] == [".svg", ".png"]


def test_nothing_sampled_and_nothing_scored_draw_nothing(make_run: MakeRun, tmp_path: Path) -> None:
    (view,) = views_of(make_run(types=SMALL, sessions=(), evaluated=False))
    assert resources_over_time(view, tmp_path, "r") == []
    assert accuracy_by_type([view], tmp_path) == []
    assert list(tmp_path.glob("*.png")) == []


def test_a_sweep_of_many_runs_becomes_rows_instead_of_bars(make_run: MakeRun, tmp_path: Path) -> None:
    runs = [make_run(answer={"top_k": k}, types=SMALL, sessions=()) for k in range(1, 9)]
    few = accuracy_by_type(views_of(*runs[:2]), tmp_path, "few")[1]
    many = accuracy_by_type(views_of(*runs), tmp_path, "many")[1]
    (few_width, few_height), (many_width, many_height) = size_of(few), size_of(many)
    assert few_width == many_width == 1420  # 180 mm at 200 dots an inch
    assert few_height != many_height


def size_of(png: Path) -> tuple[int, int]:
    width, height = struct.unpack(">II", png.read_bytes()[16:24])
    return width, height
