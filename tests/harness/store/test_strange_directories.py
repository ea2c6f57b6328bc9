"""A run directory may be somebody else's: no pipe or device in it is waited for, no line of it fills the memory,
and nothing is written through its links.
"""

import os
import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from paired_runs import ScoredRun, write_every_file, write_run
from scoring import evaluation

import harness.store
from harness.core import bounded_files
from harness.core.errors import StoreError
from harness.core.records import Estimate, PhaseEstimate, RunRecord, Score
from harness.runner.executing.worker_supervisor import CleanedLog
from harness.statistics.resource_usage import load_resources
from harness.store import CallKey, Done, IndexDir, Journal, RunDir, RunFile, find_runs, untrusted_file_reader
from harness.store.annotations import read_annotations
from harness.store.asked_calls import latest_calls
from harness.store.run_files import EXTENSION_FILES
from harness.store.run_rewriting import JsonObject

from .conftest import MakeRecord


def of_extension(name: RunFile) -> Callable[[RunDir], object]:
    return lambda run: run.extension_file(name, JsonObject, "delete it").read()


FILES: dict[str, Callable[[RunDir], object]] = {
    RunFile.MANIFEST: RunDir.manifest,
    RunFile.SAMPLE: RunDir.sample,
    RunFile.INDEX: RunDir.index,
    RunFile.ESTIMATE: RunDir.estimate,
    RunFile.RECORDS: RunDir.records,
    RunFile.RESOURCES: RunDir.resources_path,
    RunFile.REACH: RunDir.reach,
    RunFile.RACE: RunDir.race,
    RunFile.DIALECTS: RunDir.dialects,
    RunFile.CLUSTER: RunDir.cluster_info,
    RunFile.TAGS: RunDir.name_and_tags,
    **{name: of_extension(name) for name in EXTENSION_FILES},
    RunFile.DONE: RunDir.done,
    "scores/answer.jsonl": RunDir.scores,
    "scores/answer.json": RunDir.evaluations,
    "annotations/ada.jsonl": read_annotations,
}
"""What is read of a run, and what reads it."""
WRITTEN_ONLY = {RunFile.DAMAGED_RECORDS, RunFile.LOG, RunFile.SERVER_LOG, RunFile.JOURNAL, RunFile.LOCK}
"""A journal is opened by its writer, and read by estimates: both have tests of their own."""


def test_every_file_of_a_run_is_read_here_and_described() -> None:
    assert {name for name in FILES if "/" not in name} | WRITTEN_ONLY == {*RunFile}
    assert [name for name in RunFile if f" {name}" not in str(harness.store.__doc__)] == []


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_socket(path: Path) -> None:
    # A socket's path is short: it is made where it is.
    with closing(socket.socket(socket.AF_UNIX)) as made:
        here = Path.cwd()
        os.chdir(path.parent)
        try:
            made.bind(path.name)
        finally:
            os.chdir(here)


def a_folder(path: Path) -> None:
    path.mkdir()


def endless(path: Path) -> None:
    """Gigabytes on paper, none on the disk."""
    with path.open("wb") as file:
        file.truncate(1 << 40)


STRANGE = [a_pipe, a_device, a_socket, a_folder, endless]


@pytest.fixture
def finished(tmp_path: Path) -> RunDir:
    return write_every_file(tmp_path)


@pytest.fixture(autouse=True)
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too long is found after less."""
    monkeypatch.setattr(untrusted_file_reader, "LONGEST_LINE", 1 << 20)
    monkeypatch.setattr(untrusted_file_reader, "LARGEST_OBJECT", 1 << 20)


@pytest.mark.parametrize(
    ("name", "strange"),
    [(name, STRANGE[at % 5]) for at, name in enumerate([*FILES, *list(FILES)[:4]])],
)
def test_a_file_of_a_run_that_is_no_regular_file_is_one_line_at_once(
    finished: RunDir, name: str, strange: Callable[[Path], None]
) -> None:
    path = finished.path / name
    FILES[name](finished)
    path.unlink()
    strange(path)
    with pytest.raises(StoreError) as refused:
        FILES[name](RunDir(finished.path))
    line = str(refused.value)
    assert Path(name).name in line
    assert "\n" not in line
    assert refused.value.fix


@pytest.mark.parametrize(
    ("name", "strange"),
    [
        ("sample.jsonl", endless),
        ("index.json", a_device),
        ("done.json", a_socket),
    ],
)
def test_a_file_that_can_be_made_again_replaces_what_is_no_regular_file(
    finished: RunDir, name: str, strange: Callable[[Path], None]
) -> None:
    path, manifest, sample = finished.path / name, finished.manifest(), finished.sample()
    path.unlink()
    strange(path)
    said: list[str] = []
    run = RunDir.create(finished.path.parent, manifest, sample, said.append)
    said += run.remove_damaged()
    assert any(name in line for line in said)
    assert path.is_file() is (name == "sample.jsonl")
    assert not path.is_symlink()
    assert (run.sample(), len(run.records())) == (sample, 2)


def test_records_and_samples_of_resources_with_an_endless_line_are_refused(finished: RunDir) -> None:
    for name in ("records.jsonl", "resources.csv"):
        with (finished.path / name).open("ab") as file:
            file.truncate(1 << 40)
    with pytest.raises(StoreError, match="ends with a line longer than 1,048,576 bytes: move it away"):
        finished.remove_damaged()
    with pytest.raises(StoreError, match="delete it: the report then leaves out CPU and RAM"):
        load_resources(finished.path / "resources.csv")


@pytest.mark.parametrize("strange", STRANGE)
def test_a_journal_or_log_that_is_no_regular_file_is_one_line_and_empty_for_estimates(
    tmp_path: Path, strange: Callable[[Path], None]
) -> None:
    path, log = tmp_path / "calls.sqlite", tmp_path / "worker.log"
    strange(path)
    for shared in (False, True):
        with pytest.raises(StoreError, match=r"calls\.sqlite"):
            Journal(path, shared=shared).find(CallKey("index", "generator", "d", 0))
    assert latest_calls(path) == []
    if strange is not endless:
        strange(log)
        with pytest.raises(StoreError, match=r"cannot write .*worker\.log"):
            CleanedLog(log)


@pytest.mark.parametrize(
    ("name", "strange"),
    [
        *[("done.json", a_socket), ("tags.json", a_folder), ("scores/answer.json", endless)],
        *[("manifest.json", a_pipe), ("manifest.json", a_device)],
    ],
)
def test_a_run_with_a_strange_file_has_no_fingerprint_and_is_found_beside_others(
    finished: RunDir, name: str, strange: Callable[[Path], None]
) -> None:
    other = write_run(finished.path.parent, ScoredRun(scores={}, name="demo--b--2"))
    assert finished.fingerprint()
    (finished.path / name).unlink()
    strange(finished.path / name)
    if name != "manifest.json":
        with pytest.raises(StoreError, match=Path(name).name):
            RunDir(finished.path).fingerprint()
    assert [run.run_id for run in find_runs(other.path.parent, [])] == [finished.run_id, other.run_id]


# Links


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder with a file, which is nobody's run."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine\nand not finished")
    return folder


def as_it_was(outside: Path) -> bool:
    (only,) = outside.rglob("*")
    return only.read_text() == "mine\nand not finished"


WRITERS: dict[str, Callable[[RunDir, RunRecord], object]] = {
    "records.jsonl": lambda run, record: run.append_record(record),
    "resources.csv": lambda run, _: run.append_resources("time_s", "1"),
    "worker.log": lambda run, _: CleanedLog(run.log_path),
    ".lock": lambda run, _: run.exclusive().__enter__(),
    "calls.sqlite": lambda run, _: Journal(run.journal_path),
}


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("name", WRITERS)
def test_nothing_is_written_through_a_link(
    run: RunDir, outside: Path, make_record: MakeRecord, name: str, there: bool
) -> None:
    (run.path / name).symlink_to(outside / ("mine.txt" if there else "new.txt"))
    with pytest.raises(StoreError, match=r"is a link.*: put the file itself there"):
        WRITERS[name](run, make_record("q1"))
    if name == RunFile.RECORDS and there:
        with pytest.raises(StoreError, match="it is a link: put the file itself there"):
            run.remove_damaged()
    assert as_it_was(outside)


@pytest.mark.parametrize("name", ["sample.jsonl", "index.json", "estimate.json", "load.json", "done.json"])
def test_a_link_that_is_written_anew_is_replaced(run: RunDir, outside: Path, name: str) -> None:
    sample, manifest = run.sample(), run.manifest()
    (run.path / ".done.json.planted.partial").symlink_to(outside / "mine.txt")
    (run.path / name).unlink(missing_ok=True)
    (run.path / name).symlink_to(outside / "mine.txt")
    RunDir.create(run.path.parent, manifest, sample).remove_damaged()
    phase = PhaseEstimate()
    run.write_estimate(Estimate(run_id=run.run_id, index=phase, answer=phase, n_answers=2, n_left=2))
    run.extension_file(RunFile.LOAD, JsonObject, "").write(JsonObject({}))
    run.mark_done(Done(n_expected=2, n_ok=0, n_error=0, finished_at="2026-11-20"))
    assert as_it_was(outside)


def test_scores_are_not_written_into_a_linked_folder(finished: RunDir, outside: Path) -> None:
    kept = (finished.path / "scores").rename(finished.path / "kept")
    (finished.path / "scores").symlink_to(outside)
    scores = [Score(query_id="q000", repeat=0, measure="m", status="scored", value=1.0)]
    with pytest.raises(StoreError, match="put the folder itself there"):
        finished.write_scores(evaluation("answer"), scores)
    # Before anything is paid for.
    with pytest.raises(StoreError, match=r"scores is a link"), finished.exclusive():
        pass
    assert as_it_was(outside)
    assert len(list(kept.iterdir())) == 2


def test_an_index_is_not_built_in_a_linked_folder(tmp_path: Path, outside: Path) -> None:
    (outside / "store").mkdir()
    (outside / "mine.txt").rename(outside / "store" / "mine.txt")
    (tmp_path / "indexes").mkdir()
    (tmp_path / "indexes" / "a").symlink_to(outside)
    with pytest.raises(StoreError, match="is a link, and its target would be deleted"):
        IndexDir(tmp_path, "a").begin()
    (tmp_path / "indexes" / "b").mkdir()
    (tmp_path / "indexes" / "b" / "store").symlink_to(outside / "store")
    with pytest.raises(StoreError, match="cannot prepare"):
        IndexDir(tmp_path, "b").begin()
    assert (outside / "store" / "mine.txt").read_text() == "mine\nand not finished"


def test_a_run_whose_files_are_links_is_read(finished: RunDir, tmp_path: Path) -> None:
    """As tools that keep large files elsewhere make them."""
    kept = tmp_path / "kept"
    kept.mkdir()
    for name in FILES:
        path = finished.path / name
        path.rename(kept / path.name)
        path.symlink_to(kept / path.name)
    again = RunDir(finished.path)
    assert (len(again.records()), len(again.scores()), again.done() is not None) == (2, 2, True)


# What is asked for again and again


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are opened to be read, as often as they are."""
    names: list[str] = []
    open_plain = bounded_files.open_plain

    def counting(path: Path) -> object:
        names.append(path.name)
        return open_plain(path)

    monkeypatch.setattr(untrusted_file_reader, "open_plain", counting)
    return names


def test_a_run_is_checked_once_and_again_after_a_change(finished: RunDir, opened: list[str]) -> None:
    for _ in range(5):
        finished.manifest()
    assert opened.count("manifest.json") == 1
    finished.sample()
    assert opened.count("sample.jsonl") == 2
    finished.sample()
    assert opened.count("sample.jsonl") == 3
    (finished.path / "manifest.json").write_text("{}")
    with pytest.raises(StoreError):
        finished.manifest()
