"""Costs: what they rank, what is a lower bound, and that what fails, leaves or was not metered is no bargain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.text import Text
from paired_runs import ScoredRun, close_again, write_run
from records import known
from report_groups import chapter_of, group_of, right, written

from harness.core.records import OWN_MODELS, Cost, Failure, RaceDrop, RaceRecord, Usage
from harness.display import NOTHING, Quantity, Table, format_value
from harness.display.plotting import NewFigure, plotting
from harness.report import write_report
from harness.report.figures.costs import draw_latency, draw_tokens
from harness.report.figures.marks import name_of
from harness.report.figures.pareto import draw_pareto
from harness.report.leaderboard import leaderboard
from harness.report.tables.costs import (
    break_even_tables,
    index_table,
    latency_table,
    phases_table,
    query_cost_table,
)
from harness.report.verdict.findings import find
from harness.report.verdict.types import Outcome, Standing
from harness.report.view import Group
from harness.statistics.run_frame import NATURAL
from harness.store import RunDir

MakeRun = Callable[..., RunDir]
TYPES = {"inference_query": 20}
LONG = {"inference_query": 40}
TIMEOUT = Failure(kind="timeout", message="no answer within 9 s")
CHEAP = Usage(calls=1, input_tokens=10)
DEAR = Usage(calls=1, input_tokens=10_000)
BLIND = Usage(calls=2, input_tokens=10, unmetered_calls=1)


def crossings_of(group: Group) -> list[Table]:
    return break_even_tables(group, find(group))


def cells(table: Table | None, column: str) -> list[str]:
    shown = known(table)
    return [format_value(row[shown.header.index(column)]) for row in shown.rows]


def test_what_falls_among_queries_that_timed_out_is_a_lower_bound_and_the_table_says_why(
    make_run: MakeRun,
) -> None:
    group = group_of(
        make_run(types=TYPES, failing=3, failure=TIMEOUT, latency_s=1.0),
        make_run(system="kg", types=TYPES, failing=3, latency_s=1.0),
    )
    table = latency_table(group)
    assert [cell.startswith("≥ ") for cell in cells(table, "p50, s")] == [False, False]
    for column in ("p90, s", "p99, s", "mean, s", "wall mean, s"):
        assert [cell.startswith("≥ ") for cell in cells(table, column)] == [True, False]
    assert (cells(table, "n"), cells(table, "timed out"), cells(table, "left out")) == (
        ["20", "17"],
        ["3", "0"],
        ["0", "3"],
    )
    assert table is not None
    assert "Restricted" in table.note
    assert "Restricted" not in latency_table(group_of(make_run(system="x", types=TYPES))).note  # type: ignore[union-attr]
    notes = "\n".join(group.note_lines)
    assert "Fails 15 % of its queries" in notes


def test_a_share_of_failures_is_not_0_where_one_failed_and_not_1_where_it_bars_a_run(make_run: MakeRun) -> None:
    types = {"inference_query": 800}
    runs = [make_run(system=f"f{n}", types=types, failing=n, sessions=()) for n in (0, 1, 9)]
    group = group_of(*runs)
    table = query_cost_table(group)
    assert cells(table, "failed, %") == ["0", "0.125", "1.12"]
    assert "1 % of its queries" in table.note
    assert [view.fails_too_often for view in group.views] == [False, False, True]
    assert name_of(group.views[2]) == "f9 (1.12 % failed)"


def test_a_run_that_fails_is_not_cheaper_than_anybody(make_run: MakeRun) -> None:
    runs = [
        make_run(types=TYPES, usage=DEAR),
        make_run(system="kg", types=TYPES, usage=CHEAP, failing=1),
        make_run(system="community", types=TYPES, usage=Usage(calls=1, input_tokens=5_000)),
    ]
    _, cheaper, *_ = crossings_of(group_of(*runs))
    assert cheaper.header == ("system", "than naive", "than community", "accuracy")
    assert [row[1:3] for row in cheaper.rows] == [(NOTHING, "never"), ("always", NOTHING)]
    assert "Not compared: kg (fails too often)." in cheaper.note


def test_who_is_always_cheaper_by_means_that_no_test_tells_apart_is_said_to_be_just_that(
    make_run: MakeRun, tmp_path: Path
) -> None:
    """Three runs of one index: kg takes now 50 tokens more than naive and now 49 fewer, community 500 more."""
    runs = [
        write_run(tmp_path, ScoredRun(name, {"accuracy": [1.0] * 40})) for name in ("naive", "kg", "community")
    ]
    index = known(make_run(types=TYPES).index())
    for run, more in zip(runs, ((0, 0), (50, -49), (500, 480)), strict=True):
        run.write_index(index.model_copy(update={"index_id": run.manifest().index_id}))
        again = []
        for number, record in enumerate(run.records().values()):
            usage = {"generator": Usage(calls=1, input_tokens=1_000 + more[number % 2])}
            cost = record.cost.model_copy(update={"usage": usage})
            again.append(record.model_copy(update={"attempt": 2, "cost": cost}))
        close_again(run, *again)
    group = group_of(*runs)
    _, cheaper, *_ = crossings_of(group)
    unsure = "(no significant difference)"
    assert [row[1:4] for row in cheaper.rows] == [
        (NOTHING, f"always {unsure}", "always"),
        (f"never {unsure}", NOTHING, "always"),
        ("never", "never", NOTHING),
    ]
    # Of the same run where nobody was scored, no test says anything.
    found = find(group)
    alone = replace(found, ranking=replace(found.ranking, comparison=None))
    (untested, *_) = [one for one in break_even_tables(group, alone) if "cheaper" in one.name]
    assert untested.rows[0][2:4] == ("always (not tested)",) * 2


def test_tokens_that_were_not_all_counted_are_lower_bounds_and_compared_with_nobody(make_run: MakeRun) -> None:
    group = group_of(make_run(types=TYPES, usage=DEAR), make_run(system="kg", types=TYPES, usage=BLIND))
    amortised, *others = crossings_of(group)
    assert [table.name for table in others] == ["break_even_usd"]
    last = amortised.rows[1][-1]
    assert isinstance(last, Quantity)
    assert last.at_least
    assert cells(query_cost_table(group), "input tokens") == ["10,000", "≥ 10"]
    phases = cells(phases_table(group), "input tokens")
    assert [cell.startswith("≥ ") for cell in phases] == [False] * 5 + [True] * 3
    assert "lower bounds" in "\n".join(group.note_lines)


@pytest.mark.slow  # Drawing takes about a second a figure.
def test_who_fails_stands_marked_outside_the_frontier(make_run: MakeRun, new_figure: NewFigure) -> None:
    honest = make_run(types=TYPES, usage=DEAR, right={"inference_query": 0.5})
    failing = make_run(system="kg", types=TYPES, usage=CHEAP, failing=1, right={"inference_query": 1.0})
    group = group_of(honest, failing)
    assert name_of(group.views[1]) == "kg (5 % failed)"
    tokens = draw_pareto(group, "accuracy", new_figure)[0]
    assert "Outside the frontier: kg (fails too often)." in tokens.caption
    (axes,) = tokens.figure.axes
    (dashed,) = [line for line in axes.lines if line.get_linestyle() == "--"]
    assert min(dashed.get_xdata()) >= 10_000  # type: ignore[type-var, operator, arg-type]
    assert not any(table.name.startswith("cheaper_than") for table in crossings_of(group))


@pytest.mark.slow
def test_the_distribution_of_latencies_holds_those_that_timed_out(
    make_run: MakeRun, new_figure: NewFigure
) -> None:
    group = group_of(make_run(types=TYPES, failing=12, failure=TIMEOUT, latency_s=1.0))
    (latency,) = draw_latency(group, new_figure)
    assert len(group.views[0].latencies) == 20
    assert "Restricted" in latency.caption
    assert any(text.get_text().startswith("≥ ") for text in latency.figure.axes[0].texts)


N = 40


def standings(group: Group, measure: str) -> dict[str, Standing]:
    return {one.system: one for one in find(group, measure).verdict.standings}


def score_of(standing: Standing) -> float:
    return known(standing.score).value


def not_all_counted(results: Path, n: int) -> RunDir:
    """Of the last n queries a server said less than they took."""
    run = write_run(results, ScoredRun("kg", {"accuracy": right(20, N)}, input_tokens=1_000))
    usage = {"generator": Usage(calls=2, input_tokens=1, unmetered_calls=1)}
    last = list(run.records().values())[-n:]
    again = [
        one.model_copy(update={"attempt": 2, "cost": one.cost.model_copy(update={"usage": usage})}) for one in last
    ]
    close_again(run, *again)
    return run


def test_means_of_a_cost_are_over_the_queries_that_all_ranked_runs_have(tmp_path: Path) -> None:
    seconds = [float(number) for number in range(1, N + 1)]
    group = group_of(
        write_run(tmp_path, ScoredRun("naive", {"accuracy": right(20, N)}, latency_s=seconds, replayed=2)),
        write_run(tmp_path, ScoredRun("kg", {"accuracy": right(20, N)}, latency_s=seconds)),
    )
    found = standings(group, "latency_s")
    last_38 = sum(seconds[2:]) / 38
    assert {name: score_of(one) for name, one in found.items()} == {"naive": last_38, "kg": last_38}


def test_a_run_whose_tokens_were_not_all_counted_is_not_ranked_by_them(tmp_path: Path) -> None:
    group = group_of(
        write_run(tmp_path, ScoredRun("naive", {"accuracy": right(20, N)})), not_all_counted(tmp_path, 3)
    )
    found = standings(group, "tokens")
    assert found["kg"].status == "not ranked"
    assert found["kg"].tokens is not None
    assert found["kg"].tokens.at_least


def test_a_run_of_which_many_seconds_are_unknown_is_not_ranked_by_them(tmp_path: Path) -> None:
    group = group_of(
        write_run(tmp_path, ScoredRun("naive", {"accuracy": right(20, N)}, replayed=10)),
        write_run(tmp_path, ScoredRun("kg", {"accuracy": right(20, N)})),
    )
    assert standings(group, "latency_s")["naive"].status == "not ranked"


def test_costs_are_in_the_mix_in_which_the_score_is(tmp_path: Path) -> None:
    # Later queries take more tokens, and the second half is of the type that the data set has more of.
    types, mix = ("inference_query",) * 20 + ("null_query",) * 20, {"inference_query": 10, "null_query": 90}
    group = group_of(
        *(
            write_run(tmp_path, ScoredRun(name, {"accuracy": right(count, N)}, types=types, type_mix=mix))
            for name, count in (("naive", 25), ("kg", 35))
        )
    )
    natural = known(group.views[0].row("tokens", NATURAL))
    assert natural.mean != group.views[0].value("tokens")
    assert {one.tokens and one.tokens.value for one in standings(group, "accuracy").values()} == {natural.mean}


@pytest.mark.slow
def test_the_page_says_whose_word_a_number_of_tokens_is(tmp_path: Path) -> None:
    told = Usage(calls=1, input_tokens=1, output_tokens=1, unmetered_calls=1)
    runs = [
        write_run(tmp_path, ScoredRun("told", {"accuracy": right(20, N)}, usage={OWN_MODELS: told})),
        write_run(tmp_path, ScoredRun("naive", {"accuracy": right(20, N)})),
    ]
    out = tmp_path / "out"
    write_report([chapter_of(*runs)], out)
    page = (out / "report.html").read_text()
    board = page.partition('class="scroll board"')[2].partition("</table>")[0]
    assert '≥ 2 <span class="ci">as reported</span>' in board


TOLD = Usage(calls=1, input_tokens=1, output_tokens=1, unmetered_calls=1)
"""Far less than any other run: it would be the cheapest."""
UNTOLD = Usage(unmetered_calls=1)


@pytest.fixture
def unmetered(tmp_path: Path) -> Group:
    """A pipeline that tells little, one that tells nothing, and two systems that were metered."""
    return written(
        tmp_path,
        ScoredRun("told", {"accuracy": right(140)}, usage={OWN_MODELS: TOLD}),
        ScoredRun("undecided", {"accuracy": right(140)}, usage={OWN_MODELS: UNTOLD}),
        ScoredRun("naive", {"accuracy": right(140)}),
        ScoredRun("kg", {"accuracy": right(140)}, input_tokens=900),
    )


def test_a_table_shows_what_it_reported_as_reported_and_what_it_did_not_as_unknown(unmetered: Group) -> None:
    tables = {
        "tokens": leaderboard(find(unmetered).verdict),
        "input tokens": query_cost_table(unmetered),
    }
    for column, table in tables.items():
        at = table.header.index(column)
        shown = {str(row[0]): format_value(row[at]) for row in table.rows}
        assert shown["told"].startswith("≥ ")
        assert shown["told"].endswith(" as reported")
        assert shown["undecided"] == NOTHING
        assert "reported" not in shown["naive"]
    assert "as reported: by a pipeline itself" in query_cost_table(unmetered).note


def test_what_nobody_metered_is_paired_with_nothing_and_no_sentence_calls_it_cheap(unmetered: Group) -> None:
    paired = [bool(view.values.get("tokens")) for view in unmetered.views]
    assert paired == [False, False, True, True]
    found = find(unmetered).verdict
    assert found.outcome == Outcome.EQUALLY_GOOD
    assert found.cheaper is None


def test_what_nobody_metered_is_marked_and_on_no_frontier(unmetered: Group) -> None:
    with plotting() as new_figure:
        captions = {one.stem: one.caption for one in draw_pareto(unmetered, "accuracy", new_figure)}
        (tokens, *_) = draw_tokens(unmetered, new_figure)
        drawn = {one.stem: one.figure for one in draw_pareto(unmetered, "accuracy", new_figure)}
        letters = [text.get_text() for text in drawn["pareto_tokens"].findobj(Text)]
        bars = [text.get_text() for text in tokens.figure.findobj(Text)]
    assert any("told (as reported)" in one for one in letters)
    assert any(one.startswith("≥ ") and one.endswith("as reported") for one in bars)
    assert "Outside the frontier: told (counted as reported by itself)." in captions["pareto_tokens"]
    for caption in (captions["pareto_tokens"], tokens.caption):
        assert "As reported by the pipeline itself, not metered: told." in caption


def test_a_note_says_what_is_not_known(unmetered: Group) -> None:
    told, undecided, naive, _ = unmetered.views
    assert any("tokens are as reported by the pipeline itself, dollars unknown" in note for note in told.notes)
    assert any("tokens are unknown, dollars unknown" in note for note in undecided.notes)
    assert not any("metered here" in note for note in naive.notes)
    assert not any("No price" in note for view in unmetered.views for note in view.notes)


@pytest.fixture
def raced(make_run: MakeRun) -> Group:
    """Two runs that stayed, and before them a cheap and good one that left after 8 queries."""
    runs = {
        "left": make_run(
            system="left", types={"inference_query": 40}, usage=Usage(calls=1, input_tokens=10), right={}
        ),
        "naive": make_run(types=LONG, usage=Usage(calls=1, input_tokens=500)),
        "kg": make_run(system="kg", types=LONG, usage=Usage(calls=1, input_tokens=900)),
    }
    ids = {system: run.run_id for system, run in runs.items()}
    race = RaceRecord(
        measure="accuracy",
        margin=5.0,
        alpha=0.05,
        n_queries=40,
        n_drawn=40,
        entrants=tuple(ids.values()),
        left=(ids["naive"], ids["kg"]),
        dropped=(RaceDrop(run_id=ids["left"], after=8, against=ids["kg"], low=3.2, high=41.0),),
        gaps=(),
        ended="decided",
    )
    for system, run in runs.items():
        done, sample = known(run.done()), [row.query.query_id for row in run.sample()]
        run.reopen()
        run.write_race(race)
        run.mark_done(done, sample[:8] if system == "left" else (), "eliminated from the race")
    return group_of(*runs.values())


@pytest.mark.slow
def test_who_left_a_race_is_on_no_frontier_of_those_that_stayed(raced: Group) -> None:
    with plotting() as new_figure:
        tokens = draw_pareto(raced, "accuracy", new_figure)[0]
        (dashed,) = [line for line in tokens.figure.axes[0].lines if line.get_linestyle() == "--"]
    assert "Outside the frontier: left (left the race after 8 queries)." in tokens.caption
    assert min(dashed.get_xdata()) >= 500  # type: ignore[type-var, operator, arg-type]


def test_who_left_a_race_is_no_bargain(raced: Group) -> None:
    _, cheaper, *_ = crossings_of(raced)
    assert [row[0] for row in cheaper.rows] == ["naive", "kg"]
    assert "Not compared: left (left the race after 8 queries)." in cheaper.note


@pytest.mark.parametrize(
    ("cost", "said", "noted"),
    [
        (Cost(wall_s=30.0), "30", ""),
        (
            Cost(wall_s=30.0, replayed_calls=3, saved_s=70.0),
            "100 rebuilt",
            "3 model calls",
        ),
        (Cost(wall_s=30.0, cached_texts=3), "≥ 30", "a lower bound: 3 vectors"),
    ],
)
def test_seconds_are_measured_or_rebuilt_or_a_lower_bound(
    make_run: MakeRun, cost: Cost, said: str, noted: str
) -> None:
    group = group_of(make_run(types=TYPES, index_cost=cost))
    table = known(index_table(group))
    assert format_value(table.rows[0][table.header.index("seconds")]).replace(".0", "") == said
    assert noted in "\n".join(group.note_lines)
    assert ("Index seconds" in "\n".join(group.note_lines)) is bool(noted)
