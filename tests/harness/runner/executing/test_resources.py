"""What is sampled while a run goes on."""

import csv
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from records import known

from harness.runner.executing.resources import HEADER, ResourceSampler, Servers, listening_at
from harness.statistics.resource_usage import load_resources
from harness.store import RunDir

CHILD = "x = bytearray(80_000_000)\nwhile True: pass"
BUSY = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {CHILD!r}])"


def rows(run: RunDir) -> list[dict[str, str]]:
    path = known(run.resources_path())
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_the_system_is_its_whole_process_tree_and_the_server_stands_apart(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    system = subprocess.Popen([sys.executable, "-c", BUSY], start_new_session=True)
    try:
        sampler = ResourceSampler(run.append_resources, "answer", 0.05, Servers(started=os.getpid()))
        sampler.watch(system.pid)
        for _ in range(12):
            time.sleep(0.1)
            sampler.sample_if_due()
        # A server that the system started itself is not counted twice.
        alone, apart = (
            ResourceSampler(run.append_resources, "answer", 60.0, one)
            for one in (Servers(), Servers(started=system.pid))
        )
        alone.watch(os.getpid())
        apart.watch(os.getpid())
        assert alone.rss_bytes() - apart.rss_bytes() > 80_000_000
    finally:
        os.killpg(system.pid, 9)
        system.wait()
    last = rows(run)[-1]
    assert list(last) == HEADER.split(",")
    assert last["phase"] == "answer"
    # The busy child and its memory are counted though only its parent is watched.
    assert float(last["system_cpu_percent"]) > 5
    assert int(last["system_rss_bytes"]) > 80_000_000
    assert int(last["server_rss_bytes"]) > 0
    assert int(last["machine_ram_bytes"]) > int(last["system_rss_bytes"])


def test_without_a_server_its_columns_are_empty_and_so_are_those_of_a_dead_system(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    gone = subprocess.Popen([sys.executable, "-c", "pass"])
    gone.wait()
    sampler = ResourceSampler(run.append_resources, "index", 60.0, Servers())
    sampler.watch(gone.pid)
    sampler.sample_if_due()
    sampler.sample_if_due()
    (only,) = rows(run)
    empty = [f"{name}_{what}" for name in ("server", "database") for what in ("cpu_percent", "rss_bytes")]
    assert {only[name] for name in (*empty, "system_rss_bytes")} == {""}


@pytest.fixture
def listening() -> Iterator[str]:
    """The URL of a server in another process, which holds 80 MB."""
    code = (
        "import socket\nx = bytearray(80_000_000)\ns = socket.socket()\ns.bind(('127.0.0.1', 0))\ns.listen()\n"
        "print(s.getsockname()[1], flush=True)\ns.accept()"
    )
    server = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    yield f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
    server.kill()
    server.wait()
    server.stdout.close()


def sampled(run: RunDir, servers: Servers) -> dict[str, str]:
    ResourceSampler(run.append_resources, "answer", 60.0, servers).sample_if_due()
    return rows(run)[-1]


def test_a_server_on_this_machine_is_found_by_where_it_listens(tmp_path: Path, listening: str) -> None:
    found = sampled(RunDir(tmp_path), Servers(models=[listening], databases=[listening.replace("http", "bolt")]))
    for whose in ("server", "database"):
        assert int(found[f"{whose}_rss_bytes"]) > 80_000_000
        assert float(found[f"{whose}_cpu_percent"]) >= 0


def test_a_remote_system_is_sampled_where_it_listens(tmp_path: Path, listening: str) -> None:
    found = sampled(RunDir(tmp_path), Servers(databases=[listening], is_system=True))
    assert int(found["system_rss_bytes"]) > 80_000_000
    assert found["database_rss_bytes"] == ""
    unseen = sampled(RunDir(tmp_path), Servers(databases=["https://api.openai.com/v1"], is_system=True))
    assert unseen["system_rss_bytes"] == "not sampled"


@pytest.mark.parametrize(
    "url", ["https://api.openai.com/v1", "http://127.0.0.1:1/v1", "bolt://neo4j.example:7687"]
)
def test_a_server_that_is_not_seen_is_not_sampled_and_not_zero(tmp_path: Path, listening: str, url: str) -> None:
    run = RunDir(tmp_path)
    # Of two servers of which one is not seen, no part stands for the whole.
    for urls in ([url], [listening, url]):
        found = sampled(run, Servers(models=urls))
        assert (found["server_cpu_percent"], found["server_rss_bytes"]) == ("not sampled", "not sampled")
    path = known(run.resources_path())
    resources = load_resources(path)
    assert resources.not_sampled == {"server_cpu_percent", "server_rss_bytes"}
    assert resources.values("server_rss_bytes", "answer") == []
    assert len(resources.values("machine_ram_bytes", "answer")) == 2


def test_a_forwarder_to_a_container_is_not_the_server(listening: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert listening_at(listening) is not None
    monkeypatch.setattr(psutil.Process, "name", lambda self: "docker-proxy")
    assert listening_at(listening) is None


def busy_for(seconds: float) -> None:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def test_a_process_that_ended_takes_no_seconds_from_those_that_work_on(tmp_path: Path) -> None:
    """The sum over those that are there would have fallen, and the sample would have been 0."""
    work = "import time\nwhile time.process_time() < {}: pass"
    sampler = ResourceSampler(RunDir(tmp_path).append_resources, "answer", 1000.0, Servers())
    code = work.format(0.5) + "\nprint(flush=True); input()"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        child.stdout.readline()
        sampler.watch(os.getpid())
        sampler.sample_if_due()
    finally:
        child.communicate(b"\n")
    busy_for(0.1)
    sampler._due = 0.0
    sampler.sample_if_due()
    assert float(rows(RunDir(tmp_path))[-1]["system_cpu_percent"]) > 5


def test_what_a_system_does_between_its_turns_counts_for_none_of_them(tmp_path: Path) -> None:
    sampler = ResourceSampler(RunDir(tmp_path).append_resources, "answer", 1000.0, Servers())
    sampler.watch(os.getpid())
    sampler.sample_if_due()
    sampler.pause()
    busy_for(0.1)
    sampler.resume()
    time.sleep(0.05)
    sampler._due = 0.0
    sampler.sample_if_due()
    # Of the busy tenth of a second nothing is in the share of the moment since the turn began.
    assert float(rows(RunDir(tmp_path))[-1]["system_cpu_percent"]) < 60
