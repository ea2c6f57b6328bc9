"""The verdict on runs that raced, and on samples that were looked at repeatedly."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from paired_runs import IMPUTED, ScoredRun, Value, write_run
from records import known
from report_groups import group_of, right

from harness.core.errors import ConfigError
from harness.core.records import RaceDrop, RaceGap, RaceRecord
from harness.display.plotting import NewFigure
from harness.report.comparison.tables import statistics_lines
from harness.report.figures.pareto import draw_pareto
from harness.report.verdict.findings import Findings, compare_runs, find
from harness.report.verdict.types import Outcome
from harness.report.view import Group
from harness.statistics.prices import load_prices
from harness.store import RunDir

N = 40


def runs(results: Path, systems: Sequence[str], value: Value = 0.0, **keys: Any) -> dict[str, RunDir]:
    """`value`: of every query, or 0: each system is right on fewer than the one before."""
    made = {}
    for place, system in enumerate(systems):
        count = 30 - 5 * place if "gold" not in keys else 4 - place
        scores = [value] * N if value else right(count, N)
        plan = ScoredRun(system, {"accuracy": scores}, name=system, input_tokens=100 + 30 * place, **keys)
        made[system] = write_run(results, plan)
    return made


def raced(made: dict[str, RunDir], left: str, dropped: str = "", **keys: Any) -> tuple[Group, Findings]:
    """The findings of these runs, of which those that `dropped` names left after 12 queries."""
    ids = {system: run.manifest().run_id for system, run in made.items()}
    gaps = [RaceGap(a=ids[left[0]], b=ids[other], low=keys.pop("low", -9.0), high=12.0) for other in left[1:]]
    drops = [RaceDrop(run_id=ids[one], after=12, against=ids[left[0]], low=3.2, high=41.0) for one in dropped]
    about: dict[str, Any] = {"measure": "accuracy", "margin": 5.0, "alpha": 0.05, "n_queries": N, "n_drawn": 90}
    race = RaceRecord(
        **{**about, "ended": "decided", **keys},
        entrants=tuple(ids.values()),
        left=tuple(ids[system] for system in left),
        dropped=tuple(drops),
        gaps=tuple(gaps),
    )
    for system, run in made.items():
        done = known(run.done())
        sample = [row.query.query_id for row in run.sample()]
        run.reopen()
        run.write_race(race)
        run.mark_done(done, sample[:12] if system in dropped else (), "eliminated from the race")
    group = group_of(*made.values())
    return group, find(group)


def test_a_decided_race_names_the_winner_and_eliminated_systems(tmp_path: Path) -> None:
    _, found = raced(runs(tmp_path, "abc"), "a", "bc")
    assert (found.verdict.outcome, found.verdict.recommended) == (Outcome.CLEAR_WINNER, "a")
    assert found.verdict.systems("not ranked") == ["b", "c"]
    assert found.verdict.probability is None


def test_a_race_with_several_left_recommends_the_cheapest_of_them(tmp_path: Path) -> None:
    group, found = raced(runs(tmp_path, "ab"), "ab", low=-4.0)
    assert (found.verdict.outcome, found.verdict.recommended) == (Outcome.EQUALLY_GOOD, "a")
    # No test or interval for a fixed sample is quoted beside it.
    assert not any("four times out of five" in line for line in statistics_lines(group, found))
    assert (found.verdict.at_most_worse, found.verdict.probability) == (None, None)
    assert [one.behind for one in found.verdict.standings] == [None, None]


@pytest.mark.slow
def test_an_eliminated_system_is_on_no_frontier(tmp_path: Path, new_figure: NewFigure) -> None:
    group, _ = raced(runs(tmp_path, "abc"), "bc", "a")
    tokens_used, *_ = draw_pareto(group, "accuracy", new_figure)
    assert "Outside the frontier: a (left the race after 12 queries)." in tokens_used.caption


@pytest.mark.parametrize("ended", ["queries", "budget", "broken"])
def test_a_race_that_ends_undecided_has_a_leader_only(tmp_path: Path, ended: str) -> None:
    made = runs(tmp_path, "ab")
    group, found = raced(made, "ab", ended=ended)
    assert (found.verdict.outcome, found.verdict.recommended) == (Outcome.LEADING, "a")
    assert found.verdict.more is None
    assert any("undecided after 40 of 90" in line for line in statistics_lines(group, found))
    with pytest.raises(ConfigError, match="race"):
        compare_runs(list(made.values()), load_prices())


def test_the_best_of_a_race_may_still_be_no_better_than_a_constant_answer(tmp_path: Path) -> None:
    made = runs(tmp_path, "ab", gold=("No", "No", "Yes"))
    _, found = raced(made, "a", "b")
    assert found.verdict.outcome == Outcome.NOT_ABOVE_BASELINE


def test_a_race_in_which_every_answer_failed_names_nobody(tmp_path: Path) -> None:
    _, found = raced(runs(tmp_path, "ab", value=IMPUTED), "ab")
    assert found.verdict.recommended in {None, "a"}
    assert found.verdict.outcome != Outcome.CLEAR_WINNER


SIZES = {"a": 120, "b": 90}


def grown(results: Path, n: int, systems: Sequence[str] = ("a", "b"), **wishes: Any) -> list[RunDir]:
    """The runs of two systems over the first `n` queries."""
    plans = []
    for system in systems:
        scores = {"accuracy": right(n * SIZES[system] // 200, n)}
        plans.append(ScoredRun(system, scores, digest=f"{n:064d}", name=f"{system}-{n}", **wishes))
    return [write_run(results, plan) for plan in plans]


def looks(group: Group) -> set[int]:
    return find(group).ranking.earlier_looks


def test_an_earlier_comparison_of_the_same_systems_is_a_look(tmp_path: Path) -> None:
    grown(tmp_path, 40)
    group = group_of(*grown(tmp_path, 200))
    assert looks(group) == {40}
    assert find(group).ranking.anytime_p is not None


def test_after_repeated_looks_only_a_test_for_any_number_of_them_makes_a_winner(tmp_path: Path) -> None:
    # 6 of 200 queries tell them apart, all for a: p = .031 for one look.
    scores = {"a": right(106), "b": right(100)}
    plans = [ScoredRun(system=name, scores={"accuracy": values}) for name, values in scores.items()]
    first = find(group_of(*(write_run(tmp_path / "one", plan) for plan in plans))).verdict
    assert first.outcome == Outcome.CLEAR_WINNER
    for name, values in scores.items():
        plan = ScoredRun(name, {"accuracy": values[:60]}, digest="e" * 64, name=f"{name}-60")
        write_run(tmp_path / "two", plan)
    again = find(group_of(*(write_run(tmp_path / "two", plan) for plan in plans))).verdict
    assert again.outcome != Outcome.CLEAR_WINNER
    assert any("compared before" in caveat for caveat in again.caveats)


def test_other_runs_are_no_earlier_look(tmp_path: Path) -> None:
    assert looks(group_of(*grown(tmp_path / "first", 200))) == set()
    small = grown(tmp_path / "small", 40)
    grown(tmp_path / "small", 200)
    assert looks(group_of(*small)) == set()
    grown(tmp_path / "alone", 40, systems=("a",))
    assert looks(group_of(*grown(tmp_path / "alone", 200))) == set()
    grown(tmp_path / "other", 40, queries=[f"other{number}" for number in range(40)])
    grown(tmp_path / "other", 60, unfinished=10)
    assert looks(group_of(*grown(tmp_path / "other", 200))) == set()


def test_runs_that_went_on_after_a_budget_had_ended_them_were_looked_at_before(tmp_path: Path) -> None:
    made = grown(tmp_path, 200)
    for run in made:
        done, sample = known(run.done()), [row.query.query_id for row in run.sample()]
        run.mark_done(done, sample[:40], "the time is over")
        run.mark_done(done)
    assert looks(group_of(*made)) == {40}
