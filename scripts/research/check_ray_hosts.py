"""Does a run over several hosts give the same results as one machine, and does the loss of a host lose answers or
calls?

Each host is a network namespace with its own address and its own folder /tmp/ray, beside the namespace of the
command. This needs root on Linux; otherwise the script ends with one line. The hosts share this machine's files,
processors and memory, so this tests loss, recovery and cost, but not speed.

The demo with the scripted model over HTTP is answered on this machine. Then, each over all hosts and in its own
folder:

- whole: nothing happens;
- host lost: every process of a host is killed when the model has served half of the calls;
- command killed: SIGKILL to the command at that moment; the same command is given again;
- cluster lost: every process of Ray is killed at that moment, the cluster is restarted, and the same command is
  given again.

It counts the calls that the model served beyond those of the local run, calls in the journals, and records that
are missing, doubled or different from the local ones. Then come three hosts that must be rejected before any cost:
one that sees another results folder, one with other code, and an address where nobody answers.

Examples:

  .venv/bin/python scripts/research/check_ray_hosts.py
  nice -n 10 .venv/bin/python scripts/research/check_ray_hosts.py --hosts 2 --queries 6 --only "host lost"
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common import command_line, import_from_tests, machine, print_table, started

from harness.core.errors import ServiceUnavailable
from harness.models.fake_model import FakeScript
from harness.models.fake_server import FakeServer
from harness.store import RunDir

import_from_tests()
from killing import journaled, what_was_answered  # noqa: E402 - found by import_from_tests

_INSIDE = "RAG_HARNESS_INSIDE_HOSTS"
_ADDRESS = "10.77.0.{}"
_PORT = 6379
_PORTS = ("dashboard-agent-grpc", "dashboard-agent-listen", "runtime-env-agent", "metrics-export")
"""With fixed ports Ray does not wait for its agents to choose them, which fails on a busy machine."""
_FIRST = (_ADDRESS.format(1), _PORT)
_STARTS_S, _MOST_STARTS = 180.0, 4
_ENDS_S = 400.0
_REPOSITORY = Path(__file__).resolve().parents[2]
_SYSTEMS = ("naive", "gold")
_ENV = {**os.environ, "RAY_AUTH_MODE": "disabled", "RAY_raylet_start_wait_time_s": "150"}
REFUSED = "refused"
CASES = ("whole", "host lost", "command killed", "cluster lost", REFUSED)


def _sh(*words: str, check: bool = True) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise ServiceUnavailable(f"{' '.join(words)}: {done.stderr.strip()[-300:]}", "run this as root, on Linux")
    return done.stdout


@dataclass
class Host:
    """One network namespace with a raylet; number 1 is the one of the command."""

    number: int
    folder: Path
    hides: Path | None = None
    """A folder that is empty for this host."""
    code: Path | None = None
    """Where its copy of the project is, if not here."""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return _ADDRESS.format(self.number)

    @property
    def space(self) -> str:
        return f"rag{self.number}"

    @property
    def is_there(self) -> bool:
        return all(process.poll() is None for process in self.processes)

    def create(self) -> None:
        """Create the namespace, and a cable to the bridge."""
        _sh("ip", "netns", "add", self.space)
        _sh("ip", "link", "add", f"v{self.number}", "type", "veth", "peer", "name", "eth0", "netns", self.space)
        _sh("ip", "link", "set", f"v{self.number}", "master", "rag", "up")
        inside = ("ip", "-n", self.space)
        _sh(*inside, "addr", "add", f"{self.address}/24", "dev", "eth0")
        _sh(*inside, "link", "set", "eth0", "up")
        _sh(*inside, "link", "set", "lo", "up")

    def start(self) -> None:
        """Start its raylet, in its own mount namespace."""
        own = self.folder / f"ray{self.number}"
        own.mkdir(parents=True, exist_ok=True)
        hidden = f"mount -t tmpfs none {self.hides} && " if self.hides else ""
        first = self.number == 1
        where = ["--head", f"--port={_PORT}"] if first else [f"--address={_ADDRESS.format(1)}:{_PORT}"]
        words = [
            *(str(Path(sys.executable).with_name("ray")), "start", *where, f"--node-ip-address={self.address}"),
            *("--num-cpus=2", "--object-store-memory=80000000", "--disable-usage-stats", "--block"),
            *(["--include-dashboard=false"] if first else []),
            *(f"--{name}-port={port}" for port, name in enumerate(_PORTS, start=_PORT + 1)),
        ]
        path = f"{self.code}:{os.environ.get('PYTHONPATH', '')}" if self.code else os.environ.get("PYTHONPATH", "")
        script = f"mount --bind {own} /tmp/ray && {hidden}exec {' '.join(words)}"
        into = [] if first else ["ip", "netns", "exec", self.space]
        # The command must find the first host's Ray in /tmp/ray, so that host has no mounts of its own.
        run = ["sh", "-c", f"exec {' '.join(words)}"] if first else ["unshare", "-m", "sh", "-c", script]
        log = (self.folder / f"host{self.number}.log").open("ab")
        environment = {**_ENV, "PYTHONPATH": path}
        self.processes.append(subprocess.Popen([*into, *run], stdout=log, stderr=log, env=environment))

    def kill(self) -> None:
        """Kill every process of the host at once."""
        if self.number == 1:
            mine = _sh(
                "pgrep", "-f", "raylet|gcs_server|ray::|ray start --head|monitor.py|log_monitor", check=False
            )
            pids = [pid for pid in mine.split() if _space_of(pid) == _space_of("self")]
        else:
            pids = _sh("ip", "netns", "pids", self.space, check=False).split()
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        for process in self.processes:
            process.wait()
        self.processes.clear()


def _space_of(pid: str) -> str:
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return ""


class Hosts:
    """All hosts, and one cluster over them."""

    def __init__(self, n: int, folder: Path) -> None:
        self.all = [Host(number, folder) for number in range(1, n + 1)]
        # The folder is removed with this script, however it ends.
        Path("/run/netns").mkdir(exist_ok=True)
        _sh("mount", "-t", "tmpfs", "none", "/run/netns")
        _sh("ip", "link", "set", "lo", "up")
        _sh("ip", "link", "add", "rag", "type", "bridge")
        _sh("ip", "addr", "add", f"{self.all[0].address}/24", "dev", "rag")
        _sh("ip", "link", "set", "rag", "up")
        Path("/tmp/ray").mkdir(exist_ok=True)  # noqa: S108 - Ray's own
        for host in self.all[1:]:
            host.create()

    @contextmanager
    def cluster(self) -> Iterator[None]:
        """Run Ray on every host."""
        self.start()
        try:
            yield
        finally:
            self.kill()

    def start(self) -> None:
        """Start Ray on every host; on a busy machine one part may time out on another, and all start again."""
        for _ in range(_MOST_STARTS):
            if self._tried():
                return
            self.kill()
        raise ServiceUnavailable("the hosts did not find each other", "try again when this machine is less busy")

    def kill(self) -> None:
        for host in reversed(self.all):
            host.kill()

    def _tried(self) -> bool:
        """Start them one after the other: each joins the cluster before the next starts."""
        for host in self.all:
            host.start()
            until = time.monotonic() + _STARTS_S
            while _n_joined() < host.number:
                if time.monotonic() > until or not host.is_there:
                    return False
                time.sleep(2)
        return True


def _n_joined() -> int:
    """How many hosts are in the cluster."""
    try:
        socket.create_connection(_FIRST, 1).close()
    except OSError:
        return 0
    code = (
        f"import ray; ray.init(address='{_FIRST[0]}:{_PORT}', log_to_driver=False, logging_level='ERROR');"
        "print('joined', sum(node['Alive'] for node in ray.nodes()))"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=_ENV
    ).stdout
    found = re.search(r"joined (\d+)", said)
    return int(found[1]) if found else 0


class Runs:
    """Runs the command, and reads its results."""

    def __init__(self, folder: Path, server: FakeServer, hosts: Hosts, n_queries: int) -> None:
        self._folder, self._server, self._hosts = folder, server, hosts
        keys: dict[str, object] = {"dataset.sample.per_type": n_queries, "limits.concurrency": 2}
        for role in ("generator", "embedder"):
            model = {"provider": "openai-compatible", "model": "fake-1", "base_url": server.base_url}
            keys |= {f"models.{role}.{key}": value for key, value in model.items()}
        named = [word for system in _SYSTEMS for word in ("-s", system)]
        settings = [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]
        self._words = [*named, "-d", "demo", "--records-only", *settings]
        self.here = self._folder / "here"
        before = self.calls
        self._end(self._start(self.here, "local"))
        self.n_calls = self.calls - before

    @property
    def calls(self) -> int:
        return int(self._server.model.served["calls"])

    def case(self, name: str) -> list[str]:
        """A row of the table."""
        results, before = self._folder / name.replace(" ", "-"), self.calls
        half = before + self.n_calls // 2
        command = self._start(results, "ray")
        if name != "whole":
            while self.calls < half and command.poll() is None:
                time.sleep(0.02)
            if name == "host lost":
                self._hosts.all[-1].kill()
            elif name == "command killed":
                command.kill()
            else:
                self._hosts.kill()
        said, code = self._end(command, check=False)
        ended = f"exit {code}" if name != "cluster lost" else f"exit {code}: {_last(said)}"
        n_lost = said.count(" was lost (")
        if name == "cluster lost":
            self._hosts.start()
        if name in {"command killed", "cluster lost"}:
            self._end(self._start(results, "ray"))
        row = [name, ended, str(n_lost), *map(str, self._compared(results))]
        row.append(str(self.calls - before - self.n_calls))
        if name == "host lost":
            self._hosts.kill()
            self._hosts.start()
        return row

    def refused(self, *words: str) -> str:
        """The error line, if nothing was paid for."""
        before = self.calls
        said, code = self._end(self._start(self._folder / "hidden", "ray", *words), check=False)
        return f"exit {code}, {self.calls - before} calls: {_last(said)}"

    def _compared(self, results: Path) -> tuple[int, int, int]:
        """(missing or doubled records, other answers, calls missing from the journals or beyond the local
        ones).
        """
        missing = other = calls = 0
        for mine in sorted(self.here.glob("demo--*")):
            run, there = RunDir(mine), RunDir(results / mine.name)
            expected, found = what_was_answered(run), what_was_answered(there)
            missing += abs(len(list(there.iter_records())) - len(expected)) + len(expected.keys() - found.keys())
            other += sum(found.get(key) != value for key, value in expected.items())
            calls += len(set(journaled(run.journal_path)) ^ set(journaled(there.journal_path)))
        return missing, other, calls

    def _start(self, results: Path, executor: str, *words: str) -> "subprocess.Popen[str]":
        address = f"{self._hosts.all[0].address}:{_PORT}"
        where = ["--executor", executor, *(["--ray-address", address] if executor == "ray" else [])]
        cache = self._folder / f"cache-{results.name}"
        command = [
            sys.executable,
            "-m",
            "harness.cli.main",
            "run",
            *self._words,
            *where,
            "--results",
            str(results),
        ]
        return subprocess.Popen(
            [*command, "--results", str(results), *words],
            cwd=self._folder,
            env={**_ENV, "RAG_HARNESS_CACHE": str(cache)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _end(self, command: "subprocess.Popen[str]", *, check: bool = True) -> tuple[str, int]:
        _, said = command.communicate(timeout=_ENDS_S)
        if check and command.returncode:
            raise ServiceUnavailable(f"the command ended with {command.returncode}", said[-1500:])
        return said, command.returncode


def _last(said: str) -> str:
    """The last line of a command."""
    lines = said.strip().splitlines()
    return next((line for line in reversed(lines) if line.startswith("error")), " ".join(lines)[-200:])


@contextmanager
def _served() -> Iterator[FakeServer]:
    with FakeServer(FakeScript(latency_s=0.3)) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()


def _other_code(folder: Path) -> Path:
    """A copy of the project with one more line."""
    other = folder / "other-code"
    for name in ("harness", "systems"):
        shutil.copytree(_REPOSITORY / name, other / name, ignore=shutil.ignore_patterns("__pycache__"))
    with (other / "harness" / "errors.py").open("a", encoding="utf-8") as file:
        file.write("# Another version.\n")
    return other


def _refusals(runs: Runs, hosts: Hosts, folder: Path) -> Iterator[tuple[str, str]]:
    last, hidden = hosts.all[-1], folder / "hidden"
    hidden.mkdir()
    different = ("another results folder", "hides", hidden), ("other code", "code", _other_code(folder))
    for what, key, value in different:
        last.kill()
        setattr(last, key, value)
        hosts.kill()
        hosts.start()
        yield what, runs.refused()
        setattr(last, key, None)
    yield "nobody answers", runs.refused("--ray-address", f"{_ADDRESS.format(250)}:1")


def _go(options: Any) -> None:
    with TemporaryDirectory(prefix="rag-hosts-") as name, _served() as server:
        folder = Path(name)
        hosts = Hosts(options.hosts, folder)
        print(f"{options.hosts} hosts as network namespaces, {machine()}, {datetime.now(UTC):%Y-%m-%d}\n")
        with hosts.cluster():
            runs = Runs(folder, server, hosts, options.queries)
            header = ("case", "the command", "workers lost", "records missing or doubled", "other answers")
            rows = (runs.case(case) for case in options.only or CASES if case != REFUSED)
            print_table((*header, "calls of journals", f"calls beyond {runs.n_calls}"), rows)
            if REFUSED in (options.only or CASES):
                print()
                print_table(("a host", "what the command said"), _refusals(runs, hosts, folder))


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--hosts", type=int, default=3, help="2 to 9")
    parser.add_argument("--queries", type=int, default=6, help="of each type")
    parser.add_argument("--only", nargs="*", choices=CASES, help="these cases alone")
    options = parser.parse_args()
    if os.environ.get(_INSIDE):
        _go(options)
        return
    tried = ("unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")
    if shutil.which("ip") is None or subprocess.run([*tried, "true"], capture_output=True, check=False).returncode:
        what = "network namespaces are not permitted here"
        raise ServiceUnavailable(what, "run this as root, on Linux, with iproute2")
    done = subprocess.run([*tried, sys.executable, *sys.argv], check=False, env={**os.environ, _INSIDE: "1"})
    sys.exit(done.returncode)


if __name__ == "__main__":
    started(main)
