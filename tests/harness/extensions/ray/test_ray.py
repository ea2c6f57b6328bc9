"""Runs over a cluster of Ray: one of this machine, and what is refused before one is joined."""

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from command_line import CommandLine, CommandLineHere, over_http
from damaging import WorkersHere
from killing import journaled
from serving import serving

from harness.extensions.ray.cluster import LOCAL_SETTINGS
from harness.models.fake_model import FakeScript
from harness.models.fake_server import FakeServer
from harness.store import RunDir, find_runs

N = 16
DEMO = ("run", "-s", "gold", "-d", "demo", "--set", f"dataset.sample.per_type={N // 4}", "--records-only")
CHILD = "-P -m harness.cli.main"
"""In the command line of the process that has joined the cluster, a child of the command."""


@pytest.fixture
def line(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--ray-address", "127.0.0.1:1"), "no Ray cluster answers at 127.0.0.1:1"),
        (("--ray-address", "head"), "'head' is no address of a Ray cluster"),
        (("--executor", "ray", "--set", "race.margin=5"), "on one machine only"),
    ],
)
def test_a_cluster_that_cannot_be_used_is_one_line_before_anything_is_done(
    line: CommandLine, words: tuple[str, ...], said: str
) -> None:
    fake = ("--set", "models.generator.provider=fake", "--set", "models.embedder.provider=fake")
    assert said in line.refused(*DEMO, *fake, *words)
    assert not list(line.results.glob("demo--*"))


@pytest.fixture
def server() -> Iterator[FakeServer]:
    pytest.importorskip("ray")
    with serving(FakeServer(FakeScript(latency_s=0.3))) as server:
        yield server


_HOLDS_A_CLUSTER = """
import sys
from pathlib import Path
from harness.config import RunnerConfig
from harness.extensions.ray.cluster import join_cluster
from harness.runner.progress import Reporter

settings = RunnerConfig(executor="ray", ray_address="local")
with join_cluster(settings, Path(sys.argv[1]), Reporter(quiet=True)) as cluster:
    print(cluster.address, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """A cluster that several commands join: its address, and the environment of those that may join it."""
    own = {**LOCAL_SETTINGS, "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    command = [sys.executable, "-P", "-c", _HOLDS_A_CLUSTER, str(tmp_path_factory.mktemp("cluster"))]
    with subprocess.Popen(
        command, env={**os.environ, **own}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdin and holder.stdout
        yield holder.stdout.readline().strip(), own
        holder.stdin.close()


def begun(line: CommandLine, server: FakeServer, address: str) -> "subprocess.Popen[str]":
    """A run that has just made some calls."""
    before = server.model.served["calls"]
    command = line.begin(*DEMO, *over_http("generator", server), "--ray-address", address)
    while server.model.served["calls"] < before + 4 and command.poll() is None:
        time.sleep(0.02)
    return command


def processes(command: "subprocess.Popen[str]", name: str) -> list[psutil.Process]:
    """The processes with that in their command line that the command started."""
    found = []
    for process in psutil.Process(command.pid).children(recursive=True):
        try:
            found += [process] if name in process.name() + " ".join(process.cmdline()) else []
        except psutil.Error:
            continue
    return found


@pytest.mark.slow
def test_a_cluster_of_this_machine_is_reached_by_nobody_else_and_survives_the_kill_of_a_worker(
    line: CommandLine, server: FakeServer
) -> None:
    """No file of the folder runs, no answer is lost, and no call is made twice."""
    for name in ("pydantic", "numpy", "harness", "token"):
        (line.folder / f"{name}.py").write_text("open('was_run', 'a').write(__file__)")
    command = begun(line, server, "local")
    ours = {one.pid for one in psutil.Process(command.pid).children(recursive=True)}
    heard = [one for one in psutil.net_connections("inet") if one.pid in ours and one.status == psutil.CONN_LISTEN]
    sockets = [Path(str(one.laddr)) for one in psutil.net_connections("unix") if one.pid in ours and one.laddr]
    folders = {
        path.parents[3].stat().st_mode & 0o777 for path in sockets if path.name in {"raylet", "plasma_store"}
    }
    assert command.poll() is None
    processes(command, "WorkerAgent")[0].kill()
    _, said = command.communicate(timeout=300)
    assert command.returncode == 0, said
    assert len(heard) >= 3
    assert {one.laddr.ip.removeprefix("::ffff:") for one in heard if one.laddr} == {"127.0.0.1"}
    assert folders == {0o700}
    assert not [path for path in sockets if path.exists()]
    assert not (line.folder / "was_run").exists()
    assert "was lost" in said
    # The first call of all looks whether the model answers.
    assert server.model.served["calls"] == N + 1
    assert_all_answered_once(line)
    own = Path.home() / ".ray"
    assert not own.exists() or "auth_token" not in {path.name for path in own.iterdir()}


def assert_all_answered_once(line: CommandLine) -> None:
    [run] = find_runs(line.results, [])
    assert [record.status for record in run.iter_records()] == ["ok"] * N
    assert len(journaled(run.journal_path)) == N
    assert run.cluster_info() is not None


@pytest.mark.slow
def test_a_command_that_is_ended_in_the_middle_leaves_no_process_and_the_same_command_goes_on(
    line: CommandLine, server: FakeServer, cluster: tuple[str, dict[str, str]]
) -> None:
    """By Ray, as it ends whoever has joined a cluster whose first machine is lost; by SIGTERM and by SIGKILL."""
    address, line.env = cluster
    ends: dict[int, tuple[Callable[[subprocess.Popen[str]], None], tuple[str, ...]]] = {
        2: (lambda command: processes(command, CHILD)[0].kill(), ("Ray cluster", "signal 9")),
        130: (lambda command: command.terminate(), ("interrupted; all answers are kept",)),
        -signal.SIGKILL: (lambda command: command.kill(), ()),
    }
    for code, (end, parts) in ends.items():
        command = begun(line, server, address)
        children = processes(command, CHILD)
        end(command)
        _, said = command.communicate(timeout=300)
        assert command.returncode == code, said
        assert children and not psutil.wait_procs(children, timeout=10)[1]
        assert all(part in said.splitlines()[-1] for part in parts), said
    last = begun(line, server, address)
    _, said = last.communicate(timeout=300)
    assert last.returncode == 0, said
    assert_all_answered_once(line)
    # Each of the four looks whether the model answers, and what was under way at an end is asked again.
    assert server.model.served["calls"] <= N + 4 + 3 * 2


@pytest.mark.slow
@pytest.mark.long
def test_evaluators_over_ray_write_the_scores_that_they_write_here(
    tmp_path: Path, line: CommandLine, server: FakeServer, cluster: tuple[str, dict[str, str]]
) -> None:
    address, line.env = cluster
    here = CommandLineHere(tmp_path)
    with WorkersHere():
        assert not here.call(*DEMO, "--set", "models.generator.provider=fake").returncode
    [run] = find_runs(tmp_path / "results", [])
    asked = ("evaluate", run.run_id, "-e", "answer,bertscore,rag_eval", *over_http("judge", server))
    journal, found = tmp_path / "results" / "judge" / "calls.sqlite", []
    for way in ((), ("--ray-address", address)):
        for path in journal.parent.glob("calls.sqlite*"):
            path.unlink()
        done = (line if way else here).call(*asked, *way)
        assert not done.returncode, done.stderr
        found.append((saved_scores(run), sorted(journaled(journal))))
    assert found[0] == found[1]
    # Again here, from the journal of Ray: nothing is paid.
    n_calls = server.model.served["calls"]
    assert not here.call(*asked).returncode
    assert server.model.served["calls"] == n_calls == 2 * len(journaled(journal))


def saved_scores(run: RunDir) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (run.path / "scores").glob("*.jsonl")}
