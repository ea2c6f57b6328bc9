"""What the figures and tables about cost show, read back from the drawings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from paired_runs import ScoredRun, close_again, write_run
from records import known
from report_groups import group_of, right, scored, written

from harness.core.records import Cost, Usage
from harness.display import NOTHING, Drawing, Quantity, Table
from harness.display.plotting import PALETTE, NewFigure, page_svg, publish
from harness.report.comparison.compare import ComparisonChoice
from harness.report.figures.costs import draw_latency, draw_tokens
from harness.report.figures.resources import draw_resources
from harness.report.figures.scores import draw_significance
from harness.report.tables.costs import break_even_tables
from harness.report.verdict.findings import Findings, compare_runs, find
from harness.report.verdict.ranking import Ranking
from harness.report.view import Group
from harness.statistics.prices import load_prices
from harness.store import RunDir

pytestmark = pytest.mark.slow  # Drawing takes about a second a figure.

MakeRun = Callable[..., RunDir]
SMALL = {"inference_query": 2, "null_query": 1}
HOSTILE = "<b>$x_{2}$ \u202e" + "W" * 90
DRAW = (draw_latency, draw_tokens, draw_resources)


def crossings_of(group: Group) -> list[Table]:
    return break_even_tables(group, find(group))


def findings(group: Group) -> Findings:
    comparison = compare_runs([view.run for view in group.views], load_prices(), ComparisonChoice(("accuracy",)))
    return replace(find(group), ranking=Ranking(group, "accuracy", "", group.views, comparison))


def texts_in(figure: Figure) -> list[str]:
    return [found.get_text() for found in figure.findobj(Text) if isinstance(found, Text)]


def lines_of(figure: Figure, color: str) -> list[int]:
    """How many points each line of that colour has."""
    return [np.size(line.get_xdata()) for axes in figure.axes for line in axes.lines if line.get_color() == color]


def index_of(tokens: int, **cost: object) -> Cost:
    usage = {"generator": Usage(calls=1, input_tokens=tokens)}
    return Cost.model_validate({"wall_s": 42.5, "usage": usage, **cost})


def test_every_figure_says_over_how_many_queries_and_fits_in_words(
    make_run: MakeRun, new_figure: NewFigure
) -> None:
    group = group_of(make_run(types=SMALL), make_run(system="kg", types=SMALL, index_cost=index_of(5_000)))
    drawn = [one for draw in DRAW for one in draw(group, new_figure)]
    drawn += draw_significance(findings(group), new_figure)
    stems = [one.stem for one in drawn]
    assert {"latency", "tokens", "usd"} <= set(stems)
    assert len(stems) == len(set(stems))
    assert all(one.caption.endswith(".") and 0 < len(one.alt) <= 300 for one in drawn)
    told = {one.stem: one.caption for one in drawn}
    for stem in ("latency", "tokens", "usd", "significance"):
        assert "n = 3" in told[stem]


def test_runs_without_anything_measured_draw_nothing(make_run: MakeRun, new_figure: NewFigure) -> None:
    none = {"provider": "none"}
    group = group_of(make_run(types=SMALL, missing=3, sessions=(), indexed=False, generator=none, evaluated=False))
    assert [draw(group, new_figure) for draw in DRAW] == [[]] * len(DRAW)
    assert draw_significance(find(group), new_figure) == []
    assert crossings_of(group) == []


def test_long_and_hostile_names_of_many_runs_are_drawn(make_run: MakeRun, new_figure: NewFigure) -> None:
    group = group_of(*(make_run(system=f"{HOSTILE}{k}", types=SMALL, sessions=(2,)) for k in range(10)))
    for draw in (draw_latency, draw_tokens):
        for one in draw(group, new_figure):
            assert "<b>" not in page_svg(one.figure, one.stem)
            assert one.figure.get_size_inches()[1] < 8


def test_a_latency_is_of_the_attempt_that_counts_and_of_live_answers(make_run: MakeRun) -> None:
    run = make_run(types=SMALL, failing=1)
    failed, done, *_ = run.iter_records()
    assert len(group_of(run).views[0].latencies) == 2
    for attempt, cost in ((2, {"wall_s": 99.0}), (3, {"wall_s": 99.0, "replayed_calls": 1})):
        again = {"query_id": failed.query_id, "attempt": attempt, "cost": done.cost.model_copy(update=cost)}
        close_again(run, done.model_copy(update=again))
        assert (99.0 in group_of(run).views[0].latencies) is (attempt == 2)
    assert len(group_of(run).views[0].latencies) == 2


def test_throttling_stands_apart_only_where_there_was_some(tmp_path: Path, new_figure: NewFigure) -> None:
    run = write_run(tmp_path, ScoredRun(scores={"accuracy": [1.0, 0.0, 1.0]}))
    (calm,) = draw_latency(group_of(run), new_figure)
    assert len(calm.figure.axes) == 1
    assert "No system waited" in calm.caption
    record = next(run.iter_records())
    throttled = record.cost.model_copy(update={"wall_s": 5.0, "throttled_s": 3.0})
    close_again(run, record.model_copy(update={"attempt": 2, "cost": throttled}))
    (busy,) = draw_latency(group_of(run), new_figure)
    assert len(busy.figure.axes) == 2
    assert group_of(run).views[0].latencies == (2.0, 2.0, 2.0)


def test_unknown_throttling_is_not_said_to_be_none(tmp_path: Path, new_figure: NewFigure) -> None:
    known, unknown = scored(tmp_path, {"naive": [1.0, 0.0], "kg": [1.0, 0.0]})
    for record in list(unknown.iter_records()):
        cost = record.cost.model_copy(update={"throttled_s": None})
        close_again(unknown, record.model_copy(update={"attempt": 2, "cost": cost}))
    (alone,) = draw_latency(group_of(unknown), new_figure)
    (both,) = draw_latency(group_of(known, unknown), new_figure)
    assert "waited for its provider" not in alone.caption
    assert "Throttling is unknown" in alone.caption
    assert "Throttling of kg is unknown" in both.caption
    assert "No other system waited for its provider" in both.caption


def test_tokens_that_were_not_counted_are_a_dash_and_no_bar(tmp_path: Path, new_figure: NewFigure) -> None:
    plans = [
        ScoredRun(name, {"accuracy": [1.0, 0.0]}, input_tokens=n) for name, n in (("naive", 100), ("kg", None))
    ]
    group = written(tmp_path, *plans)
    tokens, usd = draw_tokens(group, new_figure)
    # Input and output of one run; neither has an index.
    assert [len(axes.patches) for axes in tokens.figure.axes] == [2, 0]
    assert texts_in(tokens.figure).count(NOTHING) == 3
    assert "kg not measured." in tokens.alt
    assert "naive" in usd.alt
    assert crossings_of(group) == []


def test_a_query_is_shown_with_its_share_of_the_index(make_run: MakeRun) -> None:
    naive = make_run(types=SMALL, usage=Usage(calls=1, input_tokens=3_000), index_cost=index_of(0))
    kg = make_run(system="kg", types=SMALL, usage=Usage(calls=1, input_tokens=1_000), index_cost=index_of(100_000))
    bare = make_run(system="gold", types=SMALL, usage=Usage(calls=1, input_tokens=9), indexed=False)
    amortised, cheaper, *usd = crossings_of(group_of(naive, kg, bare))
    assert amortised.header[2:] == tuple(f"over {n} queries" for n in ("3", "100", "1,000", "10,000"))
    assert [row[3] for row in amortised.rows] == [Quantity(3_000), Quantity(2_000), None]
    assert cheaper.header == ("system", "than naive", "than kg", "accuracy")
    assert [row[1:3] for row in cheaper.rows] == [(NOTHING, "up to 49"), ("from 51 on", NOTHING)]
    assert [table.name for table in usd] == ["break_even_usd", "cheaper_than_usd"]


def test_the_crossing_carries_the_limits_of_both_means(tmp_path: Path, make_run: MakeRun) -> None:
    plans = [
        ScoredRun(name, {"accuracy": [1.0] * 20}, input_tokens=tokens)
        for name, tokens in (("naive", 300), ("kg", 100))
    ]
    runs = [write_run(tmp_path, plan) for plan in plans]
    for run, (name, tokens) in zip(runs, (("x", 0), ("y", 40_000)), strict=True):
        index = known(make_run(system=name, types=SMALL, index_cost=index_of(tokens)).index())
        run.write_index(index.model_copy(update={"index_id": run.manifest().index_id}))
        close_again(run)
    cell = crossings_of(group_of(*runs))[1].rows[1][1]
    assert isinstance(cell, str)
    low, high = (int(limit) for limit in cell.removesuffix("]").split("[")[1].split(","))
    assert cell.startswith("from 201 on")
    assert low < 200 < high


def test_free_models_have_no_dollars_to_break_even(make_run: MakeRun, new_figure: NewFigure) -> None:
    local = {"provider": "local", "model": "llama"}
    group = group_of(make_run(types=SMALL, generator=local), make_run(system="kg", types=SMALL, generator=local))
    assert [table.name for table in crossings_of(group)] == ["break_even_tokens", "cheaper_than_tokens"]
    assert [one.stem for one in draw_tokens(group, new_figure)] == ["tokens"]


def resources_of(new_figure: NewFigure, run: RunDir) -> Drawing:
    (drawing,) = draw_resources(group_of(run), new_figure)
    return drawing


def test_resources_have_a_line_for_each_phase_session_and_server(
    make_run: MakeRun, new_figure: NewFigure, tmp_path: Path
) -> None:
    # CPU and RAM; then a line more in each panel for the index, and one for the second session.
    for sessions, n_lines in (((3,), 2), ((12,), 4), ((12, 6), 6)):
        drawn = resources_of(new_figure, make_run(types=SMALL, sessions=sessions))
        assert len(lines_of(drawn.figure, PALETTE[0])) == n_lines
        assert lines_of(drawn.figure, PALETTE[5]) == []
    having = resources_of(new_figure, make_run(system="kg", types=SMALL, sessions=(3,), server=True))
    assert lines_of(having.figure, PALETTE[5]) == [3, 3]
    lonely = publish(resources_of(new_figure, make_run(types=SMALL, sessions=(1,))), tmp_path)
    assert (tmp_path / lonely.path).is_file()


def test_thousands_of_samples_become_means_over_stretches_of_time(
    make_run: MakeRun, new_figure: NewFigure, tmp_path: Path
) -> None:
    run = make_run(types=SMALL, sessions=(3_000, 1_000), server=True)
    drawing = resources_of(new_figure, run)
    assert "4,000 samples, drawn as means over 13.3 s each" in drawing.caption
    assert 590 <= sum(lines_of(drawing.figure, PALETTE[0])) / 2 <= 603
    assert publish(drawing, tmp_path).path.suffix == ".svg"
    assert (tmp_path / "figures" / f"{drawing.stem}.svg").stat().st_size < 150_000


def test_of_too_many_pairs_those_with_the_best_are_drawn(tmp_path: Path, new_figure: NewFigure) -> None:
    runs = scored(tmp_path, {f"s{k}": right(k, 30) for k in range(0, 27, 3)})
    group = group_of(*runs)
    (drawing,) = draw_significance(findings(group), new_figure)
    (axes,) = drawing.figure.axes
    # The best, s24, is A in every row: nobody's difference is below zero.
    assert "those with s24" in drawing.caption
    assert [label.get_text() for label in axes.get_yticklabels()] == [f"− s{k}" for k in range(0, 24, 3)]  # noqa: RUF001
    marks = [float(np.asarray(line.get_xdata())[0]) for line in axes.lines if line.get_marker() == "o"]
    assert len(marks) == 8
    assert min(marks) > 0
    few = group_of(*runs[:3])
    assert "table has all" not in draw_significance(findings(few), new_figure)[0].caption
