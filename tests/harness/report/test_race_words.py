"""What a report says of runs that raced."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from paired_runs import ScoredRun, write_run

from harness.analysis.prices import load_prices
from harness.records import RaceDrop, RaceGap, RaceRecord
from harness.report.view import load_groups
from harness.report.words.findings import Findings, find
from harness.store import RunDir

N = 40


def runs(results: Path, systems: Sequence[str]) -> dict[str, RunDir]:
    scores = {system: [1.0] * (30 - 5 * place) + [0.0] * (10 + 5 * place) for place, system in enumerate(systems)}
    return {
        system: write_run(results, ScoredRun(system=system, scores={"accuracy": scores[system]}, name=system))
        for system in systems
    }


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
        "Choose a: better than b and c after 40 of 90 queries of a race (accuracy, 95 % confidence)."
    )
    assert "b left the race after 12 queries: worse than a by 3.2 to 41.0 points." in found.sentences
    assert any(one.startswith("All that is said of the race is true with 95 %") for one in found.sentences)
    assert "b is not ranked by accuracy: it left the race after 12 queries." in found.sentences


def test_no_test_for_one_look_stands_in_words_beside_a_race(tmp_path: Path) -> None:
    plain = find(load_groups(list(runs(tmp_path / "plain", "ab").values()), load_prices())[0])
    assert any(" p = " in one or " p < " in one for one in plain.sentences)
    found = raced(runs(tmp_path / "raced", "ab"), "ab", ended="queries")
    assert not any(" p = " in one or " p < " in one for one in (found.headline, *found.sentences))
    assert "a is -9.0 to 12.0 points ahead of b: not told apart." in found.sentences


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
