"""A run over a cluster of Ray: one of this machine, and what is refused before one is joined."""

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from command_line import CommandLine, CommandLineHere, over_http
from damaging import WorkersHere
from killing import journaled
from serving import serving

from harness.models.fake_model import FakeScript
from harness.models.fake_server import FakeServer
from harness.store import RunDir, find_runs

N = 16
DEMO = ("-d", "demo", "--set", f"dataset.sample.per_type={N // 4}", "--records-only")


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
def test_what_cannot_be_spread_is_one_line_before_anything_is_done(
    line: CommandLine, words: tuple[str, ...], said: str
) -> None:
    fake = ("--set", "models.generator.provider=fake", "--set", "models.embedder.provider=fake")
    assert said in line.refused("run", "-s", "gold", *DEMO, *fake, *words)
    assert not list(line.results.glob("demo--*"))


@pytest.fixture
def server() -> Iterator[FakeServer]:
    pytest.importorskip("ray")
    with serving(FakeServer(FakeScript(latency_s=0.3))) as server:
        yield server


def spread_run(line: CommandLine, server: FakeServer) -> "subprocess.Popen[str]":
    """Under way, a third of its calls made."""
    words = ("run", "-s", "gold", *DEMO, *over_http("generator", server), "--ray-address", "local")
    command = line.begin(*words)
    while server.model.served["calls"] < N // 3 and command.poll() is None:
        time.sleep(0.02)
    return command


def killed(command: "subprocess.Popen[str]", name: str) -> bool:
    """SIGKILL to a process of that name that the command started; False where it has none yet."""
    for process in psutil.Process(command.pid).children(recursive=True):
        try:
            if name in process.name() + " ".join(process.cmdline()):
                process.send_signal(signal.SIGKILL)
                return True
        except psutil.Error:
            continue
    return False


@pytest.mark.slow
def test_a_cluster_of_this_machine_is_reached_by_nobody_else_and_survives_the_kill_of_a_worker(
    line: CommandLine, server: FakeServer
) -> None:
    """No file of the folder runs, no answer is lost, and no call is made twice."""
    for name in ("pydantic", "numpy", "harness", "token"):
        (line.folder / f"{name}.py").write_text("open('was_run', 'a').write(__file__)")
    command = spread_run(line, server)
    ours = {one.pid for one in psutil.Process(command.pid).children(recursive=True)}
    heard = [one for one in psutil.net_connections("inet") if one.pid in ours and one.status == psutil.CONN_LISTEN]
    sockets = [Path(str(one.laddr)) for one in psutil.net_connections("unix") if one.pid in ours and one.laddr]
    folders = {
        path.parents[3].stat().st_mode & 0o777 for path in sockets if path.name in {"raylet", "plasma_store"}
    }
    was_killed = command.poll() is None and killed(command, "WorkerAgent")
    _, said = command.communicate(timeout=300)
    assert command.returncode == 0, said
    assert len(heard) >= 3
    assert {one.laddr.ip.removeprefix("::ffff:") for one in heard if one.laddr} == {"127.0.0.1"}
    assert folders == {0o700}
    assert not [path for path in sockets if path.exists()]
    assert not (line.folder / "was_run").exists()
    assert was_killed
    assert "was lost" in said
    [run] = find_runs(line.results, [])
    assert [record.status for record in run.iter_records()] == ["ok"] * N
    assert len(journaled(run.journal_path)) == N
    # The first call of all looks whether the model answers.
    assert server.model.served["calls"] == N + 1
    assert RunDir(run.path).cluster_info() is not None
    assert not (Path.home() / ".ray").exists() or "auth_token" not in {
        path.name for path in (Path.home() / ".ray").iterdir()
    }


@pytest.mark.slow
def test_what_ray_ends_in_the_middle_is_one_line_and_the_same_command_goes_on(
    line: CommandLine, server: FakeServer
) -> None:
    """As it ends whoever has joined a cluster whose first machine was lost, after a minute."""
    command = spread_run(line, server)
    assert killed(command, "-P -m harness.cli.main")
    _, said = command.communicate(timeout=300)
    assert command.returncode == 2, said
    last = said.splitlines()[-1]
    assert last.startswith("error: ")
    assert "Ray cluster" in last
    assert "signal 9" in last
    again = spread_run(line, server)
    _, said = again.communicate(timeout=300)
    assert again.returncode == 0, said
    [run] = find_runs(line.results, [])
    assert [record.status for record in run.iter_records()] == ["ok"] * N
    # Of each try the first looks whether the model answers, and one was under way.
    assert len(journaled(run.journal_path)) == N
    assert server.model.served["calls"] <= N + 3


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_of_a_command_that_a_signal_ends_goes_on(
    line: CommandLine, server: FakeServer, sent: signal.Signals
) -> None:
    command = spread_run(line, server)
    children = psutil.Process(command.pid).children(recursive=True)
    apart = [one for one in children if "-P -m harness.cli.main" in " ".join(one.cmdline())]
    command.send_signal(sent)
    _, said = command.communicate(timeout=60)
    assert apart and not psutil.wait_procs(apart, timeout=10)[1]
    if sent == signal.SIGTERM:
        assert command.returncode == 130
        assert "interrupted; all answers are kept" in said


@pytest.mark.slow
@pytest.mark.long
def test_evaluators_over_ray_write_the_scores_that_they_write_here(
    tmp_path: Path, line: CommandLine, server: FakeServer
) -> None:
    here = CommandLineHere(tmp_path)
    with WorkersHere():
        assert not here.call("run", "-s", "gold", *DEMO, "--set", "models.generator.provider=fake").returncode
    [run] = find_runs(tmp_path / "results", [])
    asked = ("evaluate", run.run_id, "-e", "answer,bertscore,rag_eval", *over_http("judge", server))
    journal, found = tmp_path / "results" / "judge" / "calls.sqlite", []
    for way in ((), ("--ray-address", "local")):
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
