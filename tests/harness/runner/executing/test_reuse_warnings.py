"""What `run` says of a run that is there already, before it takes it as it is."""

import os
import subprocess
from pathlib import Path

import pytest
from cells import FAKE
from cells import cell as cell_of
from records import index_record, run_record

import harness
from harness.api.running import RunOptions, run_bench
from harness.config import load_config
from harness.core.records import Prediction
from harness.runner import machine_info
from harness.runner.executing import schedule
from harness.runner.executing.execute import close_run, open_run, result_of
from harness.runner.executing.schedule import changed_lines, reuse_lines
from harness.store import RunDir

ANEW = "use another folder (--results) to measure again"


def begun(results: Path, *, is_finished: bool) -> RunDir:
    """A run with an index and the answer to one query, or to all."""
    cell = cell_of()
    run = open_run(cell, results)
    run.write_index(index_record(index_id=cell.index_id, built_by=run.run_id))
    for query in cell.dataset.queries[: None if is_finished else 1]:
        run.append_record(run_record(query.query_id, Prediction(answer="yes")))
    if is_finished:
        close_run(cell, run)
    return run


def lines(run: RunDir, *keys: str, fresh_index: bool = False) -> list[str]:
    return [*reuse_lines(cell_of(*keys), run, fresh_index=fresh_index)]


def test_a_finished_run_that_is_asked_for_at_another_pace_says_whose_seconds_it_has(tmp_path: Path) -> None:
    run = begun(tmp_path / "finished", is_finished=True)
    assert lines(run, "models.generator.max_concurrency=1", "models.generator.requests_per_minute=60") == [
        f"{run.run_id} is finished, and its seconds were measured with models.generator.max_concurrency 8, now 1; "
        f"models.generator.requests_per_minute none, now 60.0: {ANEW}"
    ]
    run = begun(tmp_path / "begun", is_finished=False)
    (line,) = lines(run, "models.embedder.batch_size=4")
    assert line.startswith(
        f"{run.run_id} is resumed; earlier seconds were measured with models.embedder.batch_size 32"
    )


def test_a_run_that_was_made_on_another_machine_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = begun(tmp_path, is_finished=True)
    monkeypatch.setattr(
        "harness.runner.executing.schedule.describe_machine", lambda: {"processor": "X", "cores": 96}
    )
    (line,) = lines(run)
    assert "another machine: processor " in line
    assert "now X; another machine: cores " in line


def test_what_touches_no_second_is_not_said_nor_is_anything_of_a_run_that_begins(tmp_path: Path) -> None:
    new = open_run(cell_of(), tmp_path / "new")
    assert lines(new, "models.generator.max_concurrency=1", fresh_index=True) == []
    for is_finished in (True, False):
        run = begun(tmp_path / str(is_finished), is_finished=is_finished)
        (line,) = lines(run, fresh_index=True)
        assert line == f"--fresh-index has no effect on {run.run_id}, which has its index: {ANEW}"
        assert lines(run, "evaluators=[retrieval]", "runner.resources_interval_s=9", "budget.tokens=5") == []


def test_run_says_it_to_whoever_asked_to_be_quiet_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = begun(tmp_path, is_finished=True)
    monkeypatch.setattr(schedule, "run_cell", lambda *_args, **_keys: result_of(run))
    run_bench(load_config(None, list(FAKE)), RunOptions(tmp_path, records_only=True, fresh_index=True, quiet=True))
    assert "--fresh-index has no effect" in capsys.readouterr().err


def test_where_documents_changed_since_a_run_it_is_said_that_this_is_another(tmp_path: Path) -> None:
    papers, results = tmp_path / "papers", tmp_path / "results"
    papers.mkdir()
    (tmp_path / "asked.jsonl").write_text('{"question": "Why?", "answers": ["so"]}')
    keys = ("dataset.name=files", f"dataset.path={papers}", f"dataset.questions={tmp_path}/asked.jsonl")
    (papers / "a.txt").write_text("before")
    first = open_run(cell_of(*keys), results)
    assert [*changed_lines(cell_of(*keys), first)] == []
    (papers / "a.txt").write_text("after")
    cell = cell_of(*keys)
    second = open_run(cell, results)
    (line,) = changed_lines(cell, second)
    assert line.endswith(f"have changed since {first.run_id}: this is a new run, the other one is kept")
    other = cell_of(*keys, "answer.top_k=3")
    assert [*changed_lines(other, open_run(other, results))] == []


def test_asking_for_the_commit_changes_nothing_in_the_checkout() -> None:
    """Killed while it wrote the index, `git status` would leave a lock that stops the user's git."""
    code = Path(harness.__file__)
    if not machine_info.git_commit():
        pytest.skip("not in a checkout")
    asked = ("git", "-C", str(code.parent), "rev-parse", "--path-format=absolute", "--git-path", "index")
    index = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    looked_at, before = code.stat(), index.read_bytes()
    try:
        os.utime(code, (looked_at.st_atime, looked_at.st_mtime - 100))
        machine_info.git_commit()
        assert index.read_bytes() == before
    finally:
        os.utime(code, ns=(looked_at.st_atime_ns, looked_at.st_mtime_ns))
