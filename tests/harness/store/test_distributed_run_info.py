"""A run that was answered over a cluster says so."""

from pathlib import Path

import pytest

from harness.core.errors import StoreError
from harness.store import Done, RunDir, SampleRow

from .conftest import MakeManifest, MakeRecord

DONE = Done(n_expected=2, n_ok=2, n_error=0, finished_at="2026-01-01T00:00:00+00:00")


@pytest.fixture
def run(
    tmp_path: Path,
    make_manifest: MakeManifest,
    make_record: MakeRecord,
    sample: list[SampleRow],
) -> RunDir:
    made = RunDir.create(tmp_path, make_manifest(), sample)
    for row in sample:
        made.append_record(make_record(row.query.query_id))
    return made


def test_the_most_workers_that_ever_answered_at_once_are_kept(run: RunDir) -> None:
    assert run.spread.read() is None
    for n_workers in (3, 8, 2):
        run.spread.keep(n_workers)
    found = run.spread.read()
    assert found is not None
    assert found.n_workers == 8


def test_a_closed_run_is_closed_over_what_it_says_of_them(run: RunDir) -> None:
    run.spread.keep(3)
    run.mark_done(DONE)
    assert run.done() == DONE
    run.spread.path.unlink()
    with pytest.raises(StoreError):
        RunDir(run.path).done()


def test_one_that_is_damaged_is_not_read_as_of_one_machine(run: RunDir) -> None:
    run.spread.keep(3)
    run.spread.path.write_text("{}", encoding="utf-8")
    with pytest.raises(StoreError, match=r"spread\.json"):
        run.spread.read()
