"""The real local model server is killed while a run uses it: nothing is lost, and no answer is scored for it."""

import time
from pathlib import Path

import psutil
import pytest
from command_line import SMOKE, CommandLine

from harness.store import RunDir

pytestmark = [pytest.mark.slow, pytest.mark.alone]

WORDS = (
    *("run", "--config", str(SMOKE), "--records-only", "--set", "models.generator.provider=local"),
    *("--set", "models.generator.model=qwen2.5-coder-0.5b", "--set", "models.generator.max_tokens=8"),
    *("--set", "answer.top_k=1", "--set", "dataset.sample.per_type=1"),
)


def test_a_killed_model_server_ends_the_run_which_resumes(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    process = cli.begin(*WORDS)
    try:
        deadline = time.monotonic() + 300
        while not any(path.stat().st_size for path in cli.results.glob("demo--*/records.jsonl")):
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.1)
        children = psutil.Process(process.pid).children(recursive=True)
        server = next(one for one in children if "harness.models.llama_server" in " ".join(one.cmdline()))
        server.kill()
        _, err = process.communicate(timeout=300)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 2
    (line,) = (line for line in err.splitlines() if line.startswith("error: "))
    assert "SIGKILL" in line
    (path,) = cli.results.glob("demo--*")
    before = list(RunDir(path).iter_records())
    assert 1 <= len(before) < 4
    assert {record.status for record in before} == {"ok"}
    resumed = cli.call(*WORDS)
    assert resumed.returncode == 0, resumed.stderr
    records = list(RunDir(path).iter_records())
    assert [(record.status, record.attempt) for record in records] == [("ok", 1)] * 4
    assert records[: len(before)] == before
