"""Captions name what is drawn, and nothing else."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from paired_runs import ScoredRun, Value, write_run
from report_groups import chapter_of, group_of

from harness.display import Drawing, ValueGroup
from harness.display.plotting import plotting
from harness.report.chapter import Chapter, load_chapters
from harness.report.leaderboard import board_of
from harness.report.sections import Reported
from harness.report.tables.costs import resources_table
from harness.statistics.prices import load_prices
from harness.store import RunDir

MakeRun = Callable[..., RunDir]
SMALL = {"inference_query": 2, "null_query": 1}


def drawn(chapter: Chapter, section: str) -> dict[str, Drawing]:
    """By stem."""
    (spec,) = [spec for spec in chapter.specs if spec.name == section]
    with plotting() as new_figure:
        return {one.stem: one for one in spec.draw(Reported(chapter.group, chapter.findings), new_figure)}


def scored(results: Path, values: Mapping[str, Sequence[Value]], measure: str = "accuracy") -> Chapter:
    plans = [ScoredRun(system=name, scores={measure: own}) for name, own in values.items()]
    return chapter_of(*(write_run(results, plan) for plan in plans))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "named", "unnamed"),
    [
        ({"naive": 20, "kg": 20}, ["grey and hollow: a tie"], ["blue", "vermilion", "black"]),
        ({"naive": 40, "kg": 2}, ["blue (a is better)"], ["vermilion", "black"]),
        ({"naive": 2, "kg": 40}, ["vermilion (b is better)"], ["blue", "black"]),
        ({"naive": 40, "kg": 2, "community": 2}, ["blue (a is better)", "a tie"], ["vermilion"]),
    ],
)
def test_the_colours_of_differences_are_those_that_are_there(
    tmp_path: Path, right: Mapping[str, int], named: Sequence[str], unnamed: Sequence[str]
) -> None:
    values = {name: [1.0] * count + [0.0] * (50 - count) for name, count in right.items()}
    caption = drawn(scored(tmp_path, values), "significance")["significance"].caption.lower()
    assert [one for one in named if one not in caption] == []
    assert [one for one in unnamed if one in caption] == []


def test_what_is_not_finished_is_drawn_last_and_is_no_extreme(tmp_path: Path) -> None:
    plans = [
        ScoredRun(system="kg", scores={"accuracy": [1.0] * 20}, types=("a", "b"), unfinished=16),
        ScoredRun(system="naive", scores={"accuracy": [1.0, 0.0] * 10}, types=("a", "b")),
    ]
    pictures = drawn(chapter_of(*(write_run(tmp_path, plan) for plan in plans)), "right-answers")
    assert pictures["accuracy_overall"].alt.index("naive") < pictures["accuracy_overall"].alt.index("kg (not")
    assert "kg" not in pictures["accuracy_by_type"].alt


def test_the_memory_of_the_machine_stands_in_gigabytes_and_in_percent(make_run: MakeRun) -> None:
    table = resources_table(group_of(make_run(types=SMALL, sessions=(8,))))
    assert table is not None
    row = dict(zip(table.header, table.rows[0], strict=True))
    values = [row[f"machine RAM, {unit}"] for unit in ("GB", "%")]
    used, percent = (one.quantities if isinstance(one, ValueGroup) else () for one in values)
    # The machine of these runs has 8 GB.
    assert [one.value for one in percent] == pytest.approx([(one.value or 0) / 8 * 100 for one in used])
    assert used


def test_an_interruption_and_a_phase_are_named_where_they_are(make_run: MakeRun) -> None:
    once = drawn(chapter_of(make_run(types=SMALL, sessions=(8,))), "resources")
    twice = drawn(chapter_of(make_run(system="kg", types=SMALL, sessions=(8, 4))), "resources")
    (whole,) = [one.caption for stem, one in once.items() if stem.startswith("resources--")]
    (broken,) = [one.caption for stem, one in twice.items() if stem.startswith("resources--")]
    assert "interrupted" not in whole
    assert "dotted upright line: the run was interrupted" in broken
    in_turns = {"schedule": "interleaved"}
    turns = drawn(chapter_of(make_run(system="kg", types=SMALL, sessions=(8, 4), config=in_turns)), "resources")
    assert not any("interrupted" in one.caption for one in turns.values())
    assert "Blue tint: the index is built; yellow tint: queries are answered" in whole
    unbuilt = drawn(chapter_of(make_run(system="recursive", types=SMALL, sessions=(3,))), "resources")
    (answering,) = [one.caption for stem, one in unbuilt.items() if stem.startswith("resources--")]
    assert "Yellow tint: queries are answered." in answering
    assert "index" not in answering


@pytest.mark.parametrize("server", [True, False])
def test_a_model_server_is_named_where_one_was_sampled(make_run: MakeRun, server: bool) -> None:
    (figure,) = drawn(chapter_of(make_run(types=SMALL, sessions=(8,), server=server)), "resources").values()
    (legend,) = figure.figure.legends
    assert ("model server" in [text.get_text() for text in legend.get_texts()]) is server


def test_repeats_are_counted_in_answers(make_run: MakeRun) -> None:
    twice = drawn(chapter_of(make_run(types=SMALL, sessions=(), repeats=2)), "right-answers")
    assert "over n = 6 answers." in twice["accuracy_overall"].caption
    assert "n is the number of answers behind" in twice["accuracy_by_type"].caption
    once = drawn(chapter_of(make_run(types=SMALL, sessions=())), "right-answers")
    assert "over n = 3 queries." in once["accuracy_overall"].caption


def test_what_is_bought_is_said_by_its_name_and_not_by_its_axis(make_run: MakeRun) -> None:
    figures = drawn(chapter_of(make_run(types=SMALL, sessions=())), "answer")
    tokens = figures["pareto_tokens"]
    assert tokens.title == "Answers right against tokens per query"
    (axes,) = tokens.figure.axes
    assert axes.get_xlabel().startswith("tokens per query (input + output, all roles)")


def test_means_by_type_have_whole_per_cents_without_a_zero_behind_the_point(tmp_path: Path) -> None:
    plans = [
        ScoredRun(system="kg", scores={"accuracy": [1, 1, 1, 0, 1, 0, 1]}, types=("a_query", "b_query", "a_query"))
    ]
    figure = drawn(chapter_of(*(write_run(tmp_path, plan) for plan in plans)), "right-answers")["accuracy_by_type"]
    assert [text.get_text() for axes in figure.figure.axes for text in axes.texts] == ["60", "100", "71.4"]


def test_a_sweep_of_runs_that_have_nothing_yet_draws_nothing(make_run: MakeRun) -> None:
    runs = [
        make_run(types=SMALL, sessions=(), missing=3, evaluated=False, answer={"top_k": top_k})
        for top_k in (2, 4, 8)
    ]
    assert drawn(chapter_of(*runs), "sweep-over") == {}


def test_bars_of_small_costs_are_as_wide_as_the_largest_of_them(tmp_path: Path) -> None:
    plans = [
        ScoredRun(system=name, scores={"accuracy": [1.0, 0.0]}, latency_s=(seconds,))
        for name, seconds in (("naive", 0.001), ("kg", 0.004))
    ]
    runs = [write_run(tmp_path, plan) for plan in plans]
    (chapter,) = load_chapters(runs, load_prices(), "latency_s")
    board = board_of(chapter.findings.verdict)
    bars = {one.system: board.width(one.score.value) for one, _, _ in board.rows if one.score}
    assert bars == {"naive": 25.0, "kg": 100.0}
    assert board.metric == "latency"
