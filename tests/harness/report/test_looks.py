"""A sample that was grown and tested again: earlier looks in the same folder of results are said, and what holds
however often one looks."""

import re
from collections.abc import Sequence
from pathlib import Path

from paired_runs import ScoredRun, Value, write_run

from harness.report.view import Group, load_groups
from harness.report.words.findings import find
from harness.statistics.prices import load_prices
from harness.store import RunDir

SIZES = {"a": 120, "b": 90}


def right(count: int, n: int) -> Sequence[Value]:
    return [1.0] * count + [0.0] * (n - count)


def grown(results: Path, n: int, systems: Sequence[str] = ("a", "b"), **wishes: object) -> list[RunDir]:
    """The runs of two systems over the first `n` queries."""
    return [
        write_run(
            results,
            ScoredRun(
                system=system,
                scores={"accuracy": right(n * SIZES[system] // 200, n)},
                digest=f"{n:064d}",
                name=f"{system}-{n}",
                **wishes,  # type: ignore[arg-type]
            ),
        )
        for system in systems
    ]


def group_of(runs: Sequence[RunDir]) -> Group:
    (group,) = load_groups(runs, load_prices())
    return group


def looks(group: Group) -> list[str]:
    return [sentence for sentence in find(group).sentences if sentence.startswith("Looked at before")]


def test_a_comparison_that_was_made_over_a_part_of_these_queries_is_said_with_a_chance_for_many_looks(
    tmp_path: Path,
) -> None:
    grown(tmp_path, 40)
    (told,) = looks(group_of(grown(tmp_path, 200)))
    assert told.startswith("Looked at before over 40 of these 200 queries")
    assert re.search(r"a and b differ with p (=|<) 0\.\d+ \(30 queries for the one, 0 for the other", told)


def test_a_first_look_is_not_said_to_be_a_second_one(tmp_path: Path) -> None:
    assert looks(group_of(grown(tmp_path, 200))) == []


def test_the_smaller_sample_was_not_looked_at_again(tmp_path: Path) -> None:
    small = grown(tmp_path, 40)
    grown(tmp_path, 200)
    assert looks(group_of(small)) == []


def test_one_system_alone_over_fewer_queries_was_no_comparison(tmp_path: Path) -> None:
    grown(tmp_path, 40, systems=("a",))
    assert looks(group_of(grown(tmp_path, 200))) == []


def test_other_queries_and_runs_that_did_not_finish_are_no_look(tmp_path: Path) -> None:
    grown(tmp_path, 40, queries=[f"other{number}" for number in range(40)])
    grown(tmp_path, 60, unfinished=10)
    assert looks(group_of(grown(tmp_path, 200))) == []


def test_runs_that_went_on_after_a_budget_had_ended_them_were_looked_at_before(tmp_path: Path) -> None:
    runs = grown(tmp_path, 200)
    for run in runs:
        done, sample = run.done(), [row.query.query_id for row in run.sample()]
        assert done is not None
        run.mark_done(done, sample[:40], "the time is over")
        run.mark_done(done)
    (told,) = looks(group_of(runs))
    assert told.startswith("Looked at before over 40 of these 200 queries")
