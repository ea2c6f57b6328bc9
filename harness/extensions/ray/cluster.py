"""The executor `ray`: machines of a Ray cluster, checked to run the same code as this one, and workers on them.

Ray starts the workers and transports their lines; it stores nothing of a run.
"""

import os
import platform
import secrets
import signal
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness.config import RunnerConfig
from harness.core.errors import DISTRIBUTION, ConfigError, HarnessError, ServiceUnavailable, explained_io, need
from harness.core.sanitize import keep_made
from harness.extensions.ray.remote_worker import ALONE_S, ActorConnection, WorkerLost
from harness.extensions.ray.spread_execution import run_spread
from harness.extensions.ray.spread_scoring import SpreadScoring
from harness.runner.evaluating.evaluate import RemoteScoring
from harness.runner.evaluating.plan import EvaluationPlan
from harness.runner.executing.execute import CellResult, RunContext
from harness.runner.executor import ExecutorSpec
from harness.runner.machine_info import package_versions
from harness.runner.plan import Cell
from harness.runner.progress import Reporter

_PACKAGES = ("harness", "systems")
_MOST_NAMED = 5

LOCAL = "local"
"""The address of a cluster on this machine only, started and stopped with the command."""
_LOCAL_SETTINGS = {
    "RAY_AUTH_MODE": "token",
    # With this setting Ray listens on loopback only, on Linux too.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "PYTHONSAFEPATH": "1",
    # A busy machine takes longer than Ray's default waits of 15 and 30 s.
    "RAY_agent_register_timeout_ms": "100000",
    "RAY_raylet_start_wait_time_s": "120",
}
"""Settings of a cluster on this machine alone, unless the user sets others."""
_ANSWERS_S = 5.0
_LOOKS_S = 60.0
_MOST_OBJECTS = 100 << 20
"""Bytes: lines pass through Ray one by one, and nothing is stored there."""


@dataclass(frozen=True)
class Installed:
    project: str
    """Version of this project."""
    code: str
    """Digest of its modules: two checkouts of one version may differ."""
    python: str
    """Major and minor version."""
    packages: dict[str, str]


def installed() -> Installed:
    python = ".".join(platform.python_version_tuple()[:2])
    return Installed(version(DISTRIBUTION), _code_digest(), python, dict(package_versions()))


def differs(theirs: Installed, ours: Installed) -> str:
    """Why workers there would behave differently from workers here; empty if they would not."""
    if theirs.project != ours.project:
        return f"has version {theirs.project} of {DISTRIBUTION}, this machine {ours.project}"
    if theirs.code != ours.code:
        return f"has other code of {DISTRIBUTION} {ours.project} than this machine"
    if theirs.python != ours.python:
        return f"runs Python {theirs.python}, this machine {ours.python}"
    return ""


def other_packages(theirs: Installed, ours: Installed) -> str:
    """Packages with different versions, the first by name; results may differ with them."""
    names = sorted(name for name, there in theirs.packages.items() if ours.packages.get(name, there) != there)
    shown = ", ".join(
        f"{name} {theirs.packages[name]} ({ours.packages[name]} here)" for name in names[:_MOST_NAMED]
    )
    more = len(names) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def read_if_visible(path: str) -> str | None:
    """The text of a small file; None if there is none here."""
    try:
        return Path(path).read_text(encoding="utf-8")[:1000]
    except OSError:
        return None


@cache
def _code_digest() -> str:
    found = sha256()
    for name in _PACKAGES:
        spec = find_spec(name)
        for folder in sorted(spec.submodule_search_locations or ()) if spec else ():
            for path in sorted(Path(folder).rglob("*.py")):
                found.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()


@dataclass(frozen=True)
class Machine:
    node_id: str
    host: str
    cpus: int


class RayCluster:
    """The checked machines and their workers. Its methods may be called from any thread."""

    def __init__(self, address: str, machines: list[Machine], say: Callable[[str], None]) -> None:
        self.address, self.machines, self._say = address, machines, say
        self._busy: Counter[str] = Counter()
        self._lost: set[str] = set()
        self._lock = threading.Lock()

    ends_within_s = ALONE_S
    """Maximum time that a lost worker keeps running."""

    @property
    def n_workers(self) -> int:
        return sum(machine.cpus for machine in self.machines)

    def start(self) -> ActorConnection:
        """A worker on the machine with most room. Raises WorkerLost if the machine was lost meanwhile,
        HarnessError if all machines or the cluster were.
        """
        check_answers(self.address)
        machine = self._choose()
        try:
            return ActorConnection(
                machine.node_id, machine.host, self._say, lambda is_lost: self._leave(machine, is_lost)
            )
        except WorkerLost:
            self._leave(machine, True)
            raise

    def _choose(self) -> Machine:
        with self._lock:
            there = [machine for machine in self.machines if machine.node_id not in self._lost]
            if not there:
                raise ServiceUnavailable(
                    f"no machine of the Ray cluster at {self.address} is left",
                    "restart some, then run the same command again: it resumes",
                )
            chosen = min(there, key=lambda machine: self._busy[machine.node_id] / machine.cpus)
            self._busy[chosen.node_id] += 1
            return chosen

    def _leave(self, machine: Machine, is_lost: bool) -> None:
        with self._lock:
            self._busy[machine.node_id] -= 1
            if is_lost and machine.node_id not in {found.node_id for found in _machines()}:
                self._lost.add(machine.node_id)


@contextmanager
def ray_cluster(address: str | None, results: Path, say: Callable[[str], None]) -> Iterator[RayCluster]:
    """Connect to the cluster at `address`, or to that of this machine, and check that each machine runs the same
    code and sees `results`; the block ends the connection.

    Raises HarnessError, one line, otherwise. Nothing is paid before.
    """
    need("executor-ray", "ray")
    if address and "://" in address:
        raise ConfigError(
            f"{address} is no address of a Ray cluster", "give its HOST:PORT, and run this inside the cluster"
        )
    if address and address != LOCAL:
        check_answers(address)
    if address == LOCAL:
        # Ray reads its settings when it is loaded. The token keeps other users of this machine and its network
        # from running code as this user; it is written to no file.
        for name, value in _LOCAL_SETTINGS.items():
            os.environ.setdefault(name, value)
        keep_made(os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32)))
    import ray

    with _joined(address):
        known = ray.get_runtime_context().gcs_address
        cluster = RayCluster(known, _machines(), say)
        if not cluster.machines:
            raise ServiceUnavailable(f"the Ray cluster at {known} has no processors", "start some: ray start")
        _look(cluster, results, say)
        yield cluster


def check_answers(address: str) -> None:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWERS_S).close()
    except ValueError:
        raise ConfigError(f"'{address}' is no address of a Ray cluster", "give HOST:PORT, or local") from None
    except OSError as error:
        raise ServiceUnavailable(
            f"no Ray cluster answers at {address} ({error})",
            "start it (ray start --head), then run the same command again: it resumes",
        ) from error


@contextmanager
def _joined(address: str | None) -> Iterator[None]:
    import ray
    from ray.job_config import JobConfig

    with ExitStack() as ends:
        own: dict[str, Any] = {}
        if address == LOCAL:
            # Ray's usual folder for sockets is writable for everybody. Paths of sockets must be short.
            folder = os.environ.get("RAY_TMPDIR", "/tmp")  # noqa: S108
            private = TemporaryDirectory(prefix="ray-", dir=folder, ignore_cleanup_errors=True)
            own = {"include_dashboard": False, "object_store_memory": _MOST_OBJECTS}
            # Ray makes its folder accessible to everybody, so it gets one inside ours.
            own["_temp_dir"] = f"{ends.enter_context(private)}/ray"
        # Otherwise Ray puts the current folder first on the import path of its workers.
        job = JobConfig(_client_job=True)
        ends.callback(ray.shutdown)
        stops = signal.getsignal(signal.SIGTERM)
        try:
            ray.init(address=address or "auto", log_to_driver=False, logging_level="ERROR", job_config=job, **own)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise _refused(address, error) from error
        finally:
            # Ray replaces the handler of the signal that stops a run.
            with suppress(ValueError):
                signal.signal(signal.SIGTERM, stops)
        yield


def _refused(address: str | None, error: Exception) -> HarnessError:
    said = " ".join(str(error).split())
    if address is None and isinstance(error, ConnectionError):
        fix = "give --ray-address HOST:PORT, or --ray-address local for one on this machine only"
        return ServiceUnavailable("this machine is in no Ray cluster", fix)
    fix = "run this on a machine of the cluster, with the same Ray and Python versions and RAY_AUTH_TOKEN"
    return ServiceUnavailable(f"cannot join the Ray cluster at {address or 'auto'} ({said[:400]})", fix)


def _machines() -> list[Machine]:
    import ray

    return [
        Machine(node["NodeID"], str(node["NodeManagerHostname"]), int(node["Resources"]["CPU"]))
        for node in ray.nodes()
        if node["Alive"] and node["Resources"].get("CPU", 0) >= 1
    ]


def _look(cluster: RayCluster, results: Path, say: Callable[[str], None]) -> None:
    """Raise HarnessError for the first machine on which a worker would behave differently."""
    token, ours = secrets.token_hex(16), installed()
    shown = results.resolve() / f".seen-{token[:8]}"
    with explained_io("write", shown):
        shown.write_text(token, encoding="utf-8")
    try:
        found = _seen(cluster, str(shown))
    finally:
        shown.unlink(missing_ok=True)
    for machine, (theirs, held) in found:
        if why := differs(theirs, ours):
            raise ConfigError(f"{machine.host} {why}", "install the same on every machine of the cluster")
        if held != token:
            raise ConfigError(
                f"{machine.host} does not see {results.resolve()}",
                "with --results, name a folder that every machine of the cluster has under the same path",
            )
        if others := other_packages(theirs, ours):
            say(f"{machine.host} has other versions: {others}")
    say(f"Ray cluster at {cluster.address}: {len(cluster.machines)} machines, {cluster.n_workers} processors")


def _seen(cluster: RayCluster, path: str) -> list[tuple[Machine, tuple[Installed, str | None]]]:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On

    look = ray.remote(inspect_here)
    asked = [
        (machine, look.options(num_cpus=0, max_retries=0, scheduling_strategy=On(machine.node_id, soft=False)))
        for machine in cluster.machines
    ]
    found = []
    for machine, answer in [(machine, there.remote(path)) for machine, there in asked]:
        try:
            found.append((machine, ray.get(answer, timeout=_LOOKS_S)))
        except Exception as error:
            said = next((line for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__)
            raise ServiceUnavailable(
                f"{machine.host} of the Ray cluster cannot run a worker ({said.strip()[:300]})",
                "install the same version of this project there as here",
            ) from error
    return found


def inspect_here(path: str) -> tuple[Installed, str | None]:
    """The versions on the machine where this is called, and what it sees at a path."""
    return installed(), read_if_visible(path)


@dataclass(frozen=True)
class RayExecutor:
    cluster: RayCluster
    n_workers: int
    results: Path

    def run_cells(self, cells: Sequence[Cell], context: RunContext) -> list[CellResult]:
        start, ends_within_s = self.cluster.start, self.cluster.ends_within_s
        return run_spread(cells, context, start, self.n_workers, ends_within_s=ends_within_s)

    def scoring(self, plan: EvaluationPlan, warn: Callable[[str], None]) -> RemoteScoring:
        return SpreadScoring(plan, self.results, self.cluster.start, self.n_workers, warn)


@contextmanager
def join_cluster(settings: RunnerConfig, results: Path, reporter: Reporter) -> Iterator[RayExecutor]:
    """Connect to the cluster at `ray_address`; see `ExecutorSpec.join`."""
    with ray_cluster(settings.ray_address, results, reporter.say) as cluster:
        n_workers = min(settings.workers or cluster.n_workers, cluster.n_workers)
        yield RayExecutor(cluster, n_workers, results)


SPEC = ExecutorSpec("ray", join_cluster, needs_own_process=True)
