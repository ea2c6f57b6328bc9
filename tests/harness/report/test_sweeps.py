"""Sweeps: which runs are one, its curves, and what is best under a budget."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from paired_runs import ScoredRun
from records import known
from report_groups import group_of, right, written

from harness.core.records import Usage
from harness.display import Drawing, Entry, Quantity, Table, format_value
from harness.display.plotting import plotting
from harness.report.sweeps import BUDGETS, budget_tables, draw_sweeps, find_sweeps, sweep_tables
from harness.report.verdict.findings import Findings, find
from harness.report.view import Group
from harness.statistics.run_frame import NATURAL
from harness.store import RunDir

MakeRun = Callable[..., RunDir]
FEW = {"inference_query": 2}
MANY = {"inference_query": 40}


def values(table: Table, column: int) -> list[float | None]:
    """The numbers of a column."""
    found = [row[column] for row in table.rows]
    assert all(one is None or isinstance(one, Quantity) for one in found)
    return [one.value if isinstance(one, Quantity) else None for one in found]


def said(entries: tuple[Entry, ...]) -> list[str]:
    """As every renderer writes them."""
    return [format_value(entry) for entry in entries]


def drawn(group: Group, findings: Findings) -> list[Drawing]:
    with plotting() as new_figure:
        return draw_sweeps(group, findings, new_figure)


def xs_and_ys(axes: Any) -> tuple[list[float], list[float]]:
    (line,) = axes.get_lines()
    return [float(x) for x in line.get_xdata()], [float(y) for y in line.get_ydata()]


def swept(make_run: MakeRun, rights: dict[int, float], **wishes: object) -> list[RunDir]:
    """A run for each top_k, with its share of right answers and 100 input tokens for each passage."""
    return [
        make_run(
            answer={"top_k": top_k},
            types=MANY,
            right={"inference_query": right},
            usage=Usage(calls=1, input_tokens=100 * top_k, output_tokens=0),
            sessions=(),
            **wishes,
        )
        for top_k, right in rights.items()
    ]


def test_runs_that_differ_in_one_number_alone_are_a_sweep_with_a_line_for_each_system(make_run: MakeRun) -> None:
    runs = [
        make_run(system=system, answer={"top_k": top_k}, types=FEW, sessions=())
        for top_k in (10, 1, 3)
        for system in ("naive", "kg")
    ]
    group = group_of(*runs)
    (sweep,) = find_sweeps(group)
    assert sweep.parameter == "top_k"
    lines = {name: [(value, group.views.index(view)) for value, view in own] for name, own in sweep.lines.items()}
    assert list(lines.items()) == [
        ("naive", [(1.0, 2), (3.0, 4), (10.0, 0)]),
        ("kg", [(1.0, 3), (3.0, 5), (10.0, 1)]),
    ]


def test_two_values_words_and_switches_are_no_sweep(make_run: MakeRun) -> None:
    answers: list[dict[str, object]] = [{"top_k": 1}, {"top_k": 2}, {"style": "a"}, {"style": "b"}, {"style": "c"}]
    answers += [{"top_k": 9, "fast": True}, {"top_k": 9, "fast": False}]
    group = group_of(*(make_run(answer=answer, types=FEW, sessions=()) for answer in answers))
    assert find_sweeps(group) == []
    assert sweep_tables(group, find(group)) == []
    assert drawn(group, find(group)) == []


def test_two_numbers_swept_at_once_are_two_sweeps(make_run: MakeRun) -> None:
    runs = [
        make_run(answer={"top_k": top_k, "rounds": rounds}, types=FEW, sessions=())
        for top_k in (1, 3, 5)
        for rounds in (1, 2, 3)
    ]
    rounds, top_k = find_sweeps(group_of(*runs))
    assert list(rounds.lines) == ["naive top_k=1", "naive top_k=3", "naive top_k=5"]
    assert list(top_k.lines) == ["naive rounds=1", "naive rounds=2", "naive rounds=3"]


def test_a_row_for_each_point_has_its_costs_and_the_origin_of_the_index(make_run: MakeRun) -> None:
    runs = [make_run(answer={"top_k": 1}, types=FEW, sessions=())]
    for top_k in (3, 5):
        runs.append(make_run(answer={"top_k": top_k}, types=FEW, sessions=(), reused_from=runs[0].run_id))
    group = group_of(*runs)
    table = sweep_tables(group, find(group))[0]
    assert (table.name, table.header[1]) == ("sweep_top_k", "top_k")
    shown = [(row[0], row[-1]) for row in table.rows]
    assert shown == [("naive", "built"), ("naive", "reused"), ("naive", "reused")]
    assert [said(row)[1] for row in table.rows] == ["1", "3", "5"]
    assert values(table, 4) == [view.value("tokens") for view in group.views]


def budgets_of(group: Group, margin: float | None = None) -> dict[str, Table]:
    found = sweep_tables(group, find(group, margin=margin))
    return {table.name: table for table in found if table.name.startswith("best_under")}


@pytest.mark.slow
def test_more_money_is_recommended_only_where_it_buys_a_better_score(make_run: MakeRun) -> None:
    group = group_of(*swept(make_run, {1: 0.05, 3: 0.9, 10: 0.5, 20: 0.95}))
    table = budgets_of(group)["best_under_tokens"]
    rows = [said(row) for row in table.rows]
    assert table.header[3:] == (
        *("best of", "corrected", "cheapest within 5 points (non-inferior)", "its accuracy", "its cost"),
    )
    assert [(row[0], row[1], row[3]) for row in rows][:2] == [
        ("100", "naive top_k=1", "1"),
        ("300", "naive top_k=3", "2"),
    ]
    # 10 passages cost more than 3 and are worse.
    assert all("top_k=10" not in row[1] for row in rows)
    assert rows[1][5] == "itself"
    assert rows[1][7] == "300"


@pytest.mark.slow
def test_the_best_of_several_is_corrected_for_having_been_chosen(make_run: MakeRun) -> None:
    group = group_of(*swept(make_run, dict.fromkeys(range(1, 10), 0.5)))
    table = budgets_of(group)["best_under_tokens"]
    looked, corrected = values(table, 2)[-1], values(table, 4)[-1]
    assert known(corrected) < known(looked)
    # With a wide margin the cheapest is as good.
    wide = budgets_of(group, margin=50.0)["best_under_tokens"]
    assert "cheapest within 50 points (non-inferior)" in wide.header
    assert "worse by 50 points or more" in wide.note
    assert said(wide.rows[-1])[7] == "100"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("usage", "failing", "why", "excluded"),
    [
        (
            Usage(calls=1, input_tokens=1, output_tokens=0),
            2,
            "fails too often",
            ("tokens", "usd", "latency_s_p50"),
        ),
        (Usage(calls=2, input_tokens=1, unmetered_calls=1), 0, "not counted in full", ("tokens", "usd")),
    ],
)
def test_a_run_that_only_looks_cheap_is_named_and_is_under_no_budget(
    make_run: MakeRun, usage: Usage, failing: int, why: str, excluded: Sequence[str]
) -> None:
    right = {"inference_query": 1.0}
    cheap = make_run(answer={"top_k": 2}, types=MANY, right=right, usage=usage, sessions=(), failing=failing)
    tables = budgets_of(group_of(cheap, *swept(make_run, {1: 0.5, 3: 0.6, 5: 0.7})))
    for cost in BUDGETS:
        table = tables[f"best_under_{cost}"]
        is_there = "top_k=2" in "".join(entry for row in table.rows for entry in said(row))
        assert is_there is (cost not in excluded)
        assert (f"Not compared: naive top_k=2 ({why})." in table.note) is (cost in excluded)


def test_a_budget_is_in_the_mix_in_which_answers_are(tmp_path: Path) -> None:
    # Later queries take more tokens, and the second half is of the type that the data set has more of.
    types = ("inference_query",) * 20 + ("null_query",) * 20
    mix = {"inference_query": 10, "null_query": 90}
    plans = [
        ScoredRun(system, {"accuracy": right(count, 40)}, types=types, type_mix=mix)
        for system, count in (("naive", 25), ("kg", 35))
    ]
    group = written(tmp_path, *plans)
    table = next(one for one in budget_tables(find(group), group.views) if one.name == "best_under_tokens")
    natural = known(group.views[0].row("tokens", NATURAL))
    assert natural.mean != group.views[0].value("tokens")
    assert values(table, 0) == [natural.mean] * len(table.rows)


def test_a_sweep_without_scores_or_prices_still_shows_its_costs(make_run: MakeRun) -> None:
    free = {"provider": "local", "model": "qwen2.5-coder-0.5b"}
    group = group_of(*swept(make_run, {1: 0.2, 3: 0.5, 5: 0.9}, generator=free))
    names = {table.name for table in sweep_tables(group, find(group))}
    assert ("best_under_tokens" in names, "best_under_usd" in names) == (True, False)
    for generator, tokens in (({}, [100, 300, 500]), ({"generator": {"provider": "none"}}, [0, 0, 0])):
        group = group_of(*swept(make_run, {1: 0.2, 3: 0.5, 5: 0.9}, evaluated=False, **generator))
        findings = find(group)
        (table,) = sweep_tables(group, findings)
        assert values(table, 4) == tokens
        assert values(table, 2) == [None] * 3
        (drawing,) = drawn(group, findings)
        titles = [axes.get_title() for axes in drawing.figure.axes]
        assert titles == [*(["tokens a query"] if any(tokens) else []), "latency p50, s"]


@pytest.mark.slow
def test_the_curve_is_drawn_at_the_swept_values_with_the_scores(make_run: MakeRun) -> None:
    group = group_of(*swept(make_run, {1: 0.2, 3: 0.5, 20: 0.9}))
    (drawing,) = drawn(group, find(group))
    accuracy = drawing.figure.axes[0]
    assert xs_and_ys(accuracy)[0] == [1.0, 3.0, 20.0]
    assert xs_and_ys(accuracy)[1] == [view.value("accuracy") for view in group.views]
    assert accuracy.get_xscale() == "log"
    assert [label.get_text() for label in accuracy.get_xticklabels()] == ["1", "3", "20"]
    assert drawing.stem == "sweep_top_k"


def test_unfinished_runs_and_those_of_another_judge_are_on_no_curve(make_run: MakeRun) -> None:
    runs = swept(make_run, {1: 0.2, 3: 0.5, 5: 0.9})
    (evaluation,) = [one for one in runs[2].evaluations() if "accuracy" in one.measures]
    runs[2].write_scores(evaluation.model_copy(update={"version": "99"}), runs[2].scores())
    group = group_of(*runs, make_run(answer={"top_k": 9}, types=MANY, missing=30, sessions=()))
    findings = find(group)
    rows = [said(row)[:2] for row in sweep_tables(group, findings)[0].rows]
    assert rows == [
        ["naive", "1"],
        ["naive", "3"],
        ["naive (scored in another way)", "5"],
        ["naive (not finished)", "9"],
    ]
    (drawing,) = drawn(group, findings)
    found = {axes.get_title(): xs_and_ys(axes)[0] for axes in drawing.figure.axes}
    assert found["answers right"] == [1.0, 3.0]
    assert found["tokens a query"] == [1.0, 3.0, 5.0]
    for left_out in ("naive top_k=5 (scored in another way)", "naive top_k=9 (not finished)"):
        assert left_out in drawing.caption.partition("Left out: ")[2]
    assert "9:" not in drawing.alt


def test_a_sweep_is_in_the_mix_of_the_leaderboard(make_run: MakeRun) -> None:
    # The data set has more of one of the two types, on which answers are worse.
    kinds = {"inference_query": 30, "temporal_query": 30}
    right = {"inference_query": 1.0, "temporal_query": 0.3}
    group = group_of(
        *(make_run(answer={"top_k": top_k}, types=kinds, right=right, sessions=()) for top_k in (1, 3, 5))
    )
    findings = find(group)
    stands = [row.mean for row in findings.rows.values() if row is not None]
    assert stands != [view.value("accuracy") for view in group.views]
    table = sweep_tables(group, findings)[0]
    assert values(table, 2) == stands
    assert "types weighed as in the whole data set" in table.note
    (drawing,) = drawn(group, findings)
    assert xs_and_ys(drawing.figure.axes[0])[1] == stands
    assert "types weighed as in the whole data set" in drawing.caption
