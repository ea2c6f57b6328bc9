"""What is sampled while a run goes on."""

import csv
import os
import subprocess
import sys
import time
from pathlib import Path

from harness.runner.executing.resources import HEADER, ResourceSampler
from harness.store import RunDir

CHILD = "x = bytearray(80_000_000)\nwhile True: pass"
BUSY = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {CHILD!r}])"


def rows(run: RunDir) -> list[dict[str, str]]:
    path = run.resources_path()
    assert path is not None
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_system_is_its_whole_process_tree_and_the_server_stands_apart(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    system = subprocess.Popen([sys.executable, "-c", BUSY], start_new_session=True)
    try:
        sampler = ResourceSampler(run, "answer", 0.05, server_pid=os.getpid())
        sampler.watch(system.pid)
        for _ in range(12):
            time.sleep(0.1)
            sampler.sample_if_due()
    finally:
        os.killpg(system.pid, 9)
        system.wait()
    last = rows(run)[-1]
    assert list(last) == HEADER.split(",")
    assert last["phase"] == "answer"
    # The busy child and its memory are counted though only its parent is watched.
    assert float(last["system_cpu_percent"]) > 20
    assert int(last["system_rss_bytes"]) > 80_000_000
    assert int(last["server_rss_bytes"]) > 0
    assert int(last["machine_ram_bytes"]) > int(last["system_rss_bytes"])


def test_without_a_server_its_columns_are_empty_and_a_dead_system_is_zero(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    gone = subprocess.Popen([sys.executable, "-c", "pass"])
    gone.wait()
    sampler = ResourceSampler(run, "index", 60.0, server_pid=None)
    sampler.watch(gone.pid)
    sampler.sample_if_due()
    sampler.sample_if_due()
    (only,) = rows(run)
    assert (only["server_cpu_percent"], only["server_rss_bytes"]) == ("", "")
    assert only["system_rss_bytes"] in {"", "0"}
