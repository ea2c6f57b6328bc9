"""What a report says of runs that raced."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from paired_runs import IMPUTED, ScoredRun, Value, write_run

from harness.core.records import RaceDrop, RaceGap, RaceRecord
from harness.report.chapter import describe
from harness.report.comparison.compare import compare_runs
from harness.report.view import load_groups
from harness.report.words.findings import Findings, find
from harness.statistics.prices import load_prices
from harness.store import RunDir

N = 40


def runs(results: Path, systems: Sequence[str], value: Value = 0.0, **keys: Any) -> dict[str, RunDir]:
    """`value`: of every query, or 0: each system is right on fewer than the one before."""
    made = {}
    for place, system in enumerate(systems):
        right = 30 - 5 * place if "gold" not in keys else 4 - place
        scores = [value] * N if value else [1.0] * right + [0.0] * (N - right)
        plan = ScoredRun(system, {"accuracy": scores}, name=system, input_tokens=100 + 30 * place, **keys)
        made[system] = write_run(results, plan)
    return made


def raced(made: dict[str, RunDir], left: str, dropped: str = "", **keys: Any) -> Findings:
    """The findings of these runs, of which those that `dropped` names left after 12 queries."""
    ids = {system: run.manifest().run_id for system, run in made.items()}
    gaps = [RaceGap(a=ids[left[0]], b=ids[other], low=keys.pop("low", -9.0), high=12.0) for other in left[1:]]
    race = RaceRecord(
        measure="accuracy",
        margin=5.0,
        alpha=0.05,
        n_queries=N,
        n_drawn=90,
        entrants=tuple(ids.values()),
        left=tuple(ids[system] for system in left),
        dropped=tuple(
            RaceDrop(run_id=ids[system], after=12, against=ids[left[0]], low=3.2, high=41.0) for system in dropped
        ),
        gaps=tuple(gaps),
        **{"ended": "decided", **keys},
    )
    for system, run in made.items():
        done = run.done()
        assert done is not None
        sample = [row.query.query_id for row in run.sample()]
        run.reopen()
        run.write_race(race)
        run.mark_done(done, sample[:12] if system in dropped else (), "the race needed it no further")
    (group,) = load_groups(list(made.values()), load_prices())
    return find(group)


def test_a_decided_race_names_the_one_to_choose_and_who_left_when_by_how_much(tmp_path: Path) -> None:
    found = raced(runs(tmp_path, "abc"), "a", "bc")
    assert found.headline == (
        "Choose a: better than b and c after 40 of 90 queries of a race (accuracy 75.0 %, 95 % confidence)."
    )
    assert "b left the race after 12 queries: worse than a by 3.2 to 41.0 points." in found.sentences
    assert any(one.startswith("All that is said of the race is true with 95 %") for one in found.sentences)
    assert "b is not ranked by accuracy: it left the race after 12 queries." in found.sentences


def test_no_test_for_one_look_stands_in_words_beside_a_race(tmp_path: Path) -> None:
    told = re.compile(r" p [=<] |% interval|the fewest|is shown to take")
    plain = find(load_groups(list(runs(tmp_path / "plain", "ab").values()), load_prices())[0])
    assert len([one for one in plain.sentences if told.search(one)]) > 2
    for left, dropped in (("ab", ""), ("a", "b")):
        found = raced(runs(tmp_path / f"raced{left}", "ab"), left, dropped)
        assert not [one for one in (found.headline, *found.sentences) if told.search(one)]
    assert any(re.match(r"What they take, in tokens a query: a \d+ \(shown, not", one) for one in found.sentences)


def test_the_best_of_a_race_that_is_no_better_than_a_constant_answer_is_not_to_be_chosen(tmp_path: Path) -> None:
    made = runs(tmp_path, "ab", gold=("No", "Yes", "No"))
    found = raced(made, "a", "b")
    assert found.headline.startswith("a is better than b after 40 of 90 queries of a race (accuracy 10.0 %, 95 %")
    assert found.headline.endswith(", not above always 'No' (67.5 %).")
    found = raced(made, "ab")
    assert found.headline.startswith("a or b, within 5 points")
    assert found.headline.endswith(", none above always 'No' (67.5 %).")
    assert "a is below always 'No' (67.5 %), which needs no document (shown, not tested)." in found.sentences


def test_who_left_a_race_named_first_takes_no_query_from_the_others(tmp_path: Path) -> None:
    made = runs(tmp_path, "ab", gold=("No", "Yes", "No"))
    raced(made, "a", "b")
    (group,) = load_groups([made["b"], made["a"]], load_prices())
    assert describe(group).startswith("40 queries")
    assert find(group).headline.endswith(", not above always 'No' (67.5 %).")


def test_a_race_says_on_which_documents_it_holds_where_queries_share_them(tmp_path: Path) -> None:
    found = raced(runs(tmp_path, "ab", cites=("d1", "d2", "d3")), "a", "b")
    assert "(accuracy 75.0 %, 95 % confidence, on these documents)" in found.headline
    (said,) = [one for one in found.sentences if one.startswith("All that is said of the race")]
    assert ", on these documents: on others it need not be." in said


def test_a_race_in_which_every_answer_failed_names_nobody(tmp_path: Path) -> None:
    found = raced(runs(tmp_path, "ab", value=IMPUTED), "ab")
    assert found.headline == "No system answered a query: all 40 queries failed in every run."


def test_a_comparison_of_raced_runs_says_that_its_tests_do_not_hold(tmp_path: Path) -> None:
    made = runs(tmp_path, "ab")
    said = "so that tests, intervals and ranks for one look at a sample of fixed size do not hold of it"
    assert not any(said in note for note in compare_runs([*made.values()], load_prices()).notes)
    raced(made, "ab")
    assert any(said in note for note in compare_runs([*made.values()], load_prices()).notes)


@pytest.mark.parametrize(
    ("ended", "words"),
    [("budget", "the budget ended before the race"), ("queries", "no query was left")],
)
def test_a_race_that_ends_before_it_is_decided_says_so_and_who_is_not_beaten(
    tmp_path: Path, ended: str, words: str
) -> None:
    found = raced(runs(tmp_path / "one", "ab"), "ab", ended=ended)
    assert found.headline.startswith(f"Undecided between a and b after 40 of 90 queries of a race: {words} (")
    assert "nobody is better" not in found.headline
    found = raced(runs(tmp_path / "other", "ab"), "ab", ended=ended, low=-4.0)
    assert found.headline.endswith("; nobody is better than a by 5 points.")


def test_those_that_are_left_within_the_margin_are_as_good(tmp_path: Path) -> None:
    found = raced(runs(tmp_path, "abc"), "ab", "c")
    assert found.headline.startswith("a or b, within 5 points after 40 of 90 queries of a race")
