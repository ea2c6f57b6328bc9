"""What the figures about quality draw, read back from matplotlib's artists; captions name what is drawn."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from paired_runs import FAILED, ScoredRun, Value, write_run
from records import known
from report_groups import chapter_of, drawn_in, group_of, scored, written

from harness.display import Drawing, ValueGroup
from harness.display.plotting import NewFigure, plotting
from harness.report.figures.marks import alt_of, style_of
from harness.report.figures.measured import draw_measured
from harness.report.figures.pareto import Extent, ScatterPoint, draw_pareto, frontier
from harness.report.figures.scores import draw_by_type
from harness.report.leaderboard import bar_width
from harness.report.tables.costs import resources_table
from harness.report.view import Group
from harness.store import RunDir

MakeRun = Callable[..., RunDir]
pytestmark = pytest.mark.slow  # Drawing takes about a second a figure.

Draw = Callable[[Group, NewFigure], list[Drawing]]


def accuracy(group: Group, new_figure: NewFigure) -> list[Drawing]:
    return draw_by_type(group, "accuracy", new_figure)


def pareto(group: Group, new_figure: NewFigure) -> list[Drawing]:
    return draw_pareto(group, "accuracy", new_figure)


def measured(group: Group, new_figure: NewFigure) -> list[Drawing]:
    """Every figure that measures of installed evaluators ask for."""
    return draw_measured(group, list(group.known), new_figure)


TYPES = ("inference_query", "null_query")
HALF: Sequence[Value] = (1.0, 0.0, 1.0, 0.0)


@pytest.fixture
def grouped(tmp_path: Path) -> Callable[..., Group]:
    """grouped(system=scores, ...): a group with a run for each system."""
    folders = (tmp_path / f"results-{number}" for number in count())

    def build(**scores: Mapping[str, Sequence[Value]]) -> Group:
        plans = [
            ScoredRun(system, own, types=TYPES, input_tokens=100 * 10**place)
            for place, (system, own) in enumerate(scores.items())
        ]
        return written(next(folders), *plans)

    return build


def drawn(draw: Draw, group: Group) -> dict[str, Drawing]:
    with plotting() as new_figure:
        return {drawing.stem: drawing for drawing in draw(group, new_figure)}


def texts(drawing: Drawing) -> list[str]:
    from matplotlib.text import Text

    found: list[Any] = drawing.figure.findobj(Text)
    return [text.get_text() for text in found if text.get_text()]


def dots(axes: Any, marker: str) -> list[tuple[float, float]]:
    """Where the markers of one shape stand."""
    return [
        (float(x), float(y))
        for line in axes.get_lines()
        if line.get_marker() == marker
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    ]


def test_accuracy_is_sorted_and_each_run_keeps_its_look(grouped: Callable[..., Group]) -> None:
    group = grouped(low={"accuracy": (0.0, 0.0, 0.0, 1.0)}, high={"accuracy": (1.0, 1.0, 1.0, 0.0)})
    overall = drawn(accuracy, group)["accuracy_overall"]
    (axes,) = overall.figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["high", "low"]
    assert dots(axes, style_of(0).marker) == [(0.25, 1.0)]
    assert dots(axes, style_of(1).marker) == [(0.75, 0.0)]
    assert "75.0 [30.1, 95.4]" in texts(overall)
    assert "n = 4" in overall.caption
    assert overall.alt.index("high 75.0") < overall.alt.index("low 25.0")


def test_accuracy_by_type_has_a_panel_for_each_type_and_a_row_for_each_run(grouped: Callable[..., Group]) -> None:
    by_type = drawn(accuracy, grouped(**{f"s{n}": {"accuracy": HALF} for n in range(7)}))["accuracy_by_type"]
    panels = by_type.figure.axes
    assert [axes.get_title() for axes in panels] == ["inference\nn = 2", "null\nn = 2", "overall\nn = 4"]
    for axes, mean in zip(panels, (1.0, 0.0, 0.5), strict=True):
        assert [dots(axes, style_of(place).marker) for place in range(7)] == [[(mean, row)] for row in range(7)]


def test_many_points_have_numbers_and_a_key_and_no_two_texts_touch(grouped: Callable[..., Group]) -> None:
    shares = [tuple(float(query < right) for query in range(12)) for right in range(1, 12)]
    group = grouped(**{f"system-{n:02d}": {"accuracy": share} for n, share in enumerate(shares)})
    drawing = drawn(pareto, group)["pareto_tokens"]
    assert "1  system-00" in texts(drawing)
    boxes = [text.get_window_extent() for text in drawing.figure.axes[0].texts]
    assert len(boxes) == 11
    assert not any(a.overlaps(b) for place, a in enumerate(boxes) for b in boxes[place + 1 :])


def test_pareto_sums_tokens_and_leaves_dominated_runs_off_the_frontier(grouped: Callable[..., Group]) -> None:
    group = grouped(cheap={"accuracy": (0.0, 1.0)}, beaten={"accuracy": (0.0, 1.0)}, dear={"accuracy": (1.0, 1.0)})
    pictures = drawn(pareto, group)
    assert list(pictures) == ["pareto_tokens", "pareto_usd", "pareto_latency"]
    assert pictures["pareto_tokens"].title == "Answers right against tokens per query"
    (axes,) = pictures["pareto_tokens"].figure.axes
    assert axes.get_xlabel().startswith("tokens per query (input + output, all roles)")
    # 100 and 101 input tokens, 5 output tokens each.
    assert dots(axes, style_of(0).marker) == [(105.5, 0.5)]
    assert axes.get_xscale() == "log"
    steps: Any
    (steps,) = (line for line in axes.get_lines() if line.get_linestyle() == "--")
    assert [float(x) for x in steps.get_xdata()][:-1] == [105.5, 105.5, 10005.5, 10005.5]


def test_the_frontier_keeps_equals_and_drops_dearer_or_worse_points() -> None:
    places = [(1, 0.5), (1, 0.5), (1, 0.4), (2, 0.5), (3, 0.6), (4, 0.55)]
    view: Any = None
    points = [ScatterPoint(view, Extent(x, x, x), Extent(y, y, y), f"{n}") for n, (x, y) in enumerate(places)]
    assert [point.remark for point in frontier(points)] == ["0", "1", "4"]


def test_retrieval_runs_over_k_and_becomes_rows_for_many_runs(grouped: Callable[..., Group]) -> None:
    scores = {"Hit@1": (0.0, 0.0), "Hit@10": (1.0, 1.0), "Hit@4": (0.0, 1.0), "MRR@10": (0.5, 0.5)}
    few = drawn(measured, grouped(a=scores, b=scores))
    assert list(few) == ["retrieval_at_k", "retrieval_ranking"]
    (axes,) = few["retrieval_at_k"].figure.axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "4", "10"]
    assert [y for _, y in dots(axes, style_of(0).marker)] == [0.0, 0.5, 1.0]
    many = drawn(measured, grouped(**{f"s{n}": scores for n in range(7)}))["retrieval_at_k"]
    assert [axes.get_title() for axes in many.figure.axes] == ["documents\nHit@10\nn = 2"]


def test_bertscore_shows_contexts_without_triplets_only_where_they_differ(grouped: Callable[..., Group]) -> None:
    same = {f"bertscore_{side}_f1": (0.6, 0.7) for side in ("context", "text")}
    (alike,) = drawn(measured, grouped(a=same, b=same)).values()
    assert [axes.get_title() for axes in alike.figure.axes] == ["contexts\nF1\nn = 2"]
    (unlike,) = drawn(measured, grouped(a=same, kg={**same, "bertscore_text_f1": (0.5, 0.5)})).values()
    assert len(unlike.figure.axes) == 2


def test_a_failed_judgement_shows_in_the_coverage_and_no_panel_is_empty(grouped: Callable[..., Group]) -> None:
    whole = {"ragas_faithfulness": (1.0, 1.0), "ragas_context_recall": (FAILED, FAILED)}
    group = grouped(a={**whole, "ragas_faithfulness": (1.0, FAILED)}, b=whole)
    (drawing,) = drawn(measured, group).values()
    assert [axes.get_title() for axes in drawing.figure.axes] == ["faithfulness"]
    assert {"1 of 2", "2"} <= set(texts(drawing))


def test_one_run_has_a_row_for_each_measure(grouped: Callable[..., Group]) -> None:
    scores = {"kg_multi_hop_faithfulness": (0.0, 0.5), "kg_measurable_faithfulness": (0.0, 1.0)}
    (drawing,) = drawn(measured, grouped(naive=scores)).values()
    (axes,) = drawing.figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["multi-hop: answer in contexts"]
    assert dots(axes, style_of(0).marker) == [(0.25, 0.0)]


def test_nothing_is_drawn_where_no_run_has_a_value(grouped: Callable[..., Group]) -> None:
    measures = ("accuracy", "Hit@4", "ragas_faithfulness", "kg_direct_faithfulness", "bertscore_answer_f1")
    group = grouped(a=dict.fromkeys(measures, (FAILED, FAILED)), b={"other": HALF})
    assert [drawn(draw, group) for draw in (accuracy, measured, pareto)] == [{}, {}, {}]


def test_sixty_runs_look_different() -> None:
    looks = [(look.color, look.marker) for look in map(style_of, range(60))]
    assert len(set(looks)) == 60


def test_an_alt_text_is_short_and_counts_left_out_sentences() -> None:
    said = alt_of(f"system-{number:02d}: {number} % of everything that was asked." for number in range(30))
    assert len(said) <= 300
    assert re.search(r"system-00.* 2\d more in the table\.$", said)


SMALL = {"inference_query": 2, "null_query": 1}


@pytest.mark.parametrize(
    ("right", "named", "unnamed"),
    [
        ({"naive": 20, "kg": 20}, ["grey and hollow: a tie"], ["blue", "vermilion", "black"]),
        ({"naive": 40, "kg": 2}, ["blue (a is better)"], ["vermilion", "black"]),
        ({"naive": 2, "kg": 40}, ["vermilion (b is better)"], ["blue", "black"]),
        ({"naive": 40, "kg": 2, "community": 2}, ["blue (a is better)", "a tie"], ["vermilion"]),
    ],
)
def test_a_caption_names_the_colours_that_are_there(
    tmp_path: Path, right: Mapping[str, int], named: Sequence[str], unnamed: Sequence[str]
) -> None:
    values = {name: [1.0] * count + [0.0] * (50 - count) for name, count in right.items()}
    caption = drawn_in(chapter_of(*scored(tmp_path, values)), "significance")["significance"].caption.lower()
    assert [one for one in named if one not in caption] == []
    assert [one for one in unnamed if one in caption] == []


def test_an_unfinished_run_is_drawn_last_and_is_no_extreme(tmp_path: Path) -> None:
    plans = [
        ScoredRun(system="kg", scores={"accuracy": [1.0] * 20}, types=("a", "b"), unfinished=16),
        ScoredRun(system="naive", scores={"accuracy": [1.0, 0.0] * 10}, types=("a", "b")),
    ]
    pictures = drawn_in(chapter_of(*(write_run(tmp_path, plan) for plan in plans)), "right-answers")
    assert pictures["accuracy_overall"].alt.index("naive") < pictures["accuracy_overall"].alt.index("kg (not")
    assert "kg" not in pictures["accuracy_by_type"].alt


def test_the_memory_of_the_machine_stands_in_gigabytes_and_in_percent(make_run: MakeRun) -> None:
    table = known(resources_table(group_of(make_run(types=SMALL, sessions=(8,)))))
    row = dict(zip(table.header, table.rows[0], strict=True))
    values = [row[f"machine RAM, {unit}"] for unit in ("GB", "%")]
    used, percent = (one.quantities if isinstance(one, ValueGroup) else () for one in values)
    # The machine of these runs has 8 GB.
    assert [one.value for one in percent] == pytest.approx([(one.value or 0) / 8 * 100 for one in used])
    assert used


def test_an_interruption_and_a_phase_are_named_where_they_are(make_run: MakeRun) -> None:
    def caption(**wishes: Any) -> str:
        figures = drawn_in(chapter_of(make_run(types=SMALL, **wishes)), "resources")
        (found,) = [one.caption for stem, one in figures.items() if stem.startswith("resources--")]
        return found

    whole, broken = caption(sessions=(8,)), caption(system="kg", sessions=(8, 4))
    assert "interrupted" not in whole
    assert "Blue tint: the index is built; yellow tint: queries are answered" in whole
    assert "dotted upright line: the run was interrupted" in broken
    assert "interrupted" not in caption(system="kg", sessions=(8, 4), config={"schedule": "interleaved"})
    answering = caption(system="recursive", sessions=(3,))
    assert "Yellow tint: queries are answered." in answering
    assert "index" not in answering


def test_repeats_are_counted_in_answers(make_run: MakeRun) -> None:
    twice = drawn_in(chapter_of(make_run(types=SMALL, sessions=(), repeats=2)), "right-answers")
    assert "over n = 6 answers." in twice["accuracy_overall"].caption
    assert "n is the number of answers behind" in twice["accuracy_by_type"].caption
    once = drawn_in(chapter_of(make_run(types=SMALL, sessions=())), "right-answers")
    assert "over n = 3 queries." in once["accuracy_overall"].caption


def test_means_by_type_have_whole_per_cents_without_a_zero_behind_the_point(tmp_path: Path) -> None:
    types = ("a_query", "b_query", "a_query")
    run = write_run(tmp_path, ScoredRun("kg", {"accuracy": [1, 1, 1, 0, 1, 0, 1]}, types=types))
    figure = drawn_in(chapter_of(run), "right-answers")["accuracy_by_type"].figure
    assert [text.get_text() for axes in figure.axes for text in axes.texts] == ["60", "100", "71.4"]


def test_a_sweep_of_runs_that_have_nothing_yet_draws_nothing(make_run: MakeRun) -> None:
    runs = [
        make_run(types=SMALL, sessions=(), missing=3, evaluated=False, answer={"top_k": top_k})
        for top_k in (2, 4, 8)
    ]
    assert drawn_in(chapter_of(*runs), "sweep-over") == {}


def test_bars_of_small_costs_are_as_wide_as_the_largest_of_them(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path, ScoredRun(name, {"accuracy": [1.0, 0.0]}, latency_s=(seconds,)))
        for name, seconds in (("naive", 0.001), ("kg", 0.004))
    ]
    verdict = chapter_of(*runs, measure="latency_s").findings.verdict
    bars = {one.system: bar_width(verdict, one.score.value) for one in verdict.standings if one.score}
    assert bars == {"naive": 25.0, "kg": 100.0}
    assert verdict.metric_title == "latency"
