"""A run that is closed over a part of its queries."""

from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import StoreError
from harness.store import Done, RunDir, SampleRow

from .conftest import MakeManifest, MakeRecord

DONE = Done(n_expected=1, n_ok=1, n_error=0, finished_at="2026-01-01T00:00:00+00:00")


@pytest.fixture
def run(
    tmp_path: Path,
    make_manifest: MakeManifest,
    make_record: MakeRecord,
    sample: list[SampleRow],
) -> RunDir:
    """Two answered queries, closed over the second."""
    made = RunDir.create(tmp_path, make_manifest(), sample)
    for row in sample:
        made.append_record(make_record(row.query.query_id))
    made.mark_done(DONE, [sample[1].query.query_id], "the time is over")
    return made


def shown(run: RunDir) -> list[Any]:
    return [[row.query.query_id for row in run.sample()], [record.query_id for record in run.iter_records()]]


def test_the_reach_of_another_run_is_one_line_and_no_smaller_sample(run: RunDir, sample: list[SampleRow]) -> None:
    own = sample[1].query.query_id
    for named in (["to another run"], [own, "to another run"]):
        run.reopen()
        run.mark_done(DONE, named, "the time is over")
        with pytest.raises(StoreError, match=r"reach\.json names queries that sample\.jsonl lacks: run the same"):
            run.sample()
        (line,) = run.remove_damaged()
        assert line.endswith("lacks; the run is open again")
        assert len(run.sample()) == 2


def test_it_shows_those_alone_and_says_why(run: RunDir, sample: list[SampleRow]) -> None:
    (_, second) = [row.query.query_id for row in sample]
    assert shown(run) == [[second], [second]]
    assert len(run.intact_statuses()) == 2
    reach = run.reach()
    assert reach is not None
    assert (reach.why, reach.looks) == ("the time is over", ())


def test_open_again_it_shows_all_and_closed_over_all_it_remembers_the_look(
    run: RunDir, sample: list[SampleRow]
) -> None:
    ids = [row.query.query_id for row in sample]
    run.reopen()
    assert (shown(run), run.reach()) == ([ids, ids], None)
    run.mark_done(DONE)
    reach = run.reach()
    assert reach is not None
    assert (shown(run), reach.query_ids, reach.why, reach.looks) == ([ids, ids], (), "", (1,))


def test_closed_again_over_the_same_queries_is_no_other_look(run: RunDir, sample: list[SampleRow]) -> None:
    run.reopen()
    run.mark_done(DONE, [sample[1].query.query_id], "the time is over")
    reach = run.reach()
    assert reach is not None
    assert reach.looks == ()


def test_damage_is_one_line_for_a_reader_and_opens_the_run_for_the_writer(
    run: RunDir, sample: list[SampleRow]
) -> None:
    path = run.path / "reach.json"
    path.write_text(path.read_text().replace(sample[1].query.query_id, sample[0].query.query_id))
    with pytest.raises(StoreError, match=r"reach\.json does not match its checksum"):
        run.sample()
    assert any("reach.json" in line for line in run.remove_damaged())
    assert run.done() is None
    assert len(run.sample()) == 2
