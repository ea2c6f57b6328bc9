"""A disk that really is full, and a file size limit that really is reached: one line, and nothing lost.

The disk is a tmpfs of some kilobytes, mounted in a mount namespace of its own that goes with its process. Where
the machine forbids that, the same checks run against RLIMIT_FSIZE; they are never left out.
"""

import functools
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from typing import Any

import pytest

MOUNT = 'mount -t tmpfs -o size=400k none "$1" && shift && exec "$@"'
LIMIT_BYTES = 100_000
NO_SPACE = "no space left on the disk"
TOO_LARGE = "the file size limit is reached"

PRELUDE = """
import json, resource, sys
from pathlib import Path
from harness.core.errors import StoreError
from harness.core.records import Cost, Prediction, RunRecord, Usage
from harness.store import CallKey, Journal, RunDir, StoredCall
from harness.store import atomic_files as files
folder = Path(sys.argv[1])
filler = folder / "filler"
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
def fill(leave):
    # On a disk without a limit of its own the file size limit does the same.
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    try:
        with filler.open("wb", buffering=0) as file:
            while True: file.write(b"x" * 4096)
    except OSError: pass
    filler.write_bytes(b"x" * max(0, filler.stat().st_size - leave))
def make_room():
    filler.unlink(missing_ok=True)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
def until_refused(call):
    for n in range(10_000):
        try: call(n)
        except StoreError as error: return n, str(error)
found = {}
"""
RECORDS = """
def record(n):
    return RunRecord(query_id=f"q{n}", repeat=0, status="ok", prediction=Prediction(answer="x" * 999),
                     cost=Cost(wall_s=1.0), attempt=1, started_at="")
run = RunDir(folder)
fill(20_000)
n, line = until_refused(lambda n: run.append_record(record(n)))
make_room()
run.cut_torn_line()
kept = list(run.records().values()) == [record(n) for n in range(n)]
run.append_record(record(n))
found["records"] = {"line": line, "written": n, "kept": kept and len(run.records()) == n + 1}
"""
ATOMIC = """
path = folder / "done.json"
path.write_text("old")
fill(20_000)
try: files.write_atomic(path, "x" * 300_000)
except StoreError as error: line = str(error)
kept = path.read_text() == "old" and not list(folder.glob("*.partial")) + list(folder.glob(".*"))
make_room()
files.write_atomic(path, "new")
found["atomic"] = {"line": line, "written": 1, "kept": kept and path.read_text() == "new"}
"""
SCORES = """
from harness.core.records import EvaluationRecord, Score
scores = [Score(query_id=f"q{n:04}", repeat=0, measure="accuracy", status="failed", explanation="x" * 200)
          for n in range(2000)]
judged = EvaluationRecord(evaluator="answer", version="1", cost=Cost(wall_s=1.0))
run.write_scores(judged, scores[:9])
fill(20_000)
try: run.write_scores(judged, scores)
except StoreError as error: line = str(error)
kept = sorted(path.name for path in (folder / "scores").iterdir()) == ["answer.json", "answer.jsonl"]
make_room()
kept = kept and run.scores() == scores[:9]
found["scores"] = {"line": line, "written": 9, "kept": kept}
"""
CALLS = """
import random
def call(n):
    return StoredCall("m", b"q", random.Random(n).randbytes(2000), Usage(calls=1), 1.0, "t")
def key(n):
    return CallKey("index", "generator", str(n), 0)
journal = Journal(folder / "calls.sqlite")
fill(60_000)
n, line = until_refused(lambda n: journal.add(key(n), call(n)))
make_room()
journal.close()
journal = Journal(folder / "calls.sqlite")
kept = [journal.find(key(i)) for i in range(n)] == [call(i) for i in range(n)] and journal.find(key(n)) is None
journal.add(key(n), call(n))
found["calls"] = {"line": line, "written": n, "kept": kept and journal.find(key(n)) == call(n)}
print(json.dumps(found))
"""


@functools.cache
def mounting() -> tuple[str, ...]:
    """The command that starts a process with a mount namespace of its own; empty where that is forbidden."""
    for flags in ("-m", "-rm"):
        command = ("unshare", flags, "sh", "-c", MOUNT, "sh")
        if (
            shutil.which("unshare")
            and not subprocess.run([*command, tempfile.gettempdir(), "true"], check=False).returncode
        ):
            return command
    return ()


def limit_file_size() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


@pytest.fixture(scope="module", params=["disk", "ulimit"])
def full_disk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What became of records, an atomic write and journaled calls on a disk that was full for a while."""
    folder = tmp_path_factory.mktemp("full")
    prefix = [*mounting(), str(folder)] if request.param == "disk" and mounting() else []
    done = subprocess.run(
        [*prefix, sys.executable, "-c", PRELUDE + RECORDS + ATOMIC + SCORES + CALLS, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=None if prefix else limit_file_size,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return {**found, "reason": NO_SPACE if prefix else TOO_LARGE, "folder": folder}


@pytest.mark.parametrize("what", ["records", "atomic", "scores"])
def test_a_full_disk_is_one_line_and_every_file_is_as_before(full_disk: dict[str, Any], what: str) -> None:
    found = full_disk[what]
    assert full_disk["reason"] in found["line"]
    assert "then run the same command again, it resumes" in found["line"]
    assert len(found["line"].splitlines()) == 1
    assert found["written"] > 0
    assert found["kept"]


def test_calls_paid_for_before_the_disk_was_full_are_still_there(full_disk: dict[str, Any]) -> None:
    found = full_disk["calls"]
    assert found["line"].startswith(f"cannot use {full_disk['folder'] / 'calls.sqlite'} (")
    assert "free some disk space" in found["line"]
    assert found["written"] > 0
    assert found["kept"]
