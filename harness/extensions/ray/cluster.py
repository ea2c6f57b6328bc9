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
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness.config import RunnerConfig
from harness.core.errors import DISTRIBUTION, ConfigError, ServiceUnavailable, explained_io, need
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

Say = Callable[[str], None]
_MOST_NAMED = 5
LOCAL = "local"
"""The address of a cluster on this machine only, started and stopped with the command."""
LOCAL_SETTINGS = {
    "RAY_AUTH_MODE": "token",
    # With this setting Ray listens on loopback only, on Linux too.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "PYTHONSAFEPATH": "1",
    # A busy machine takes longer than Ray's default waits of 15 and 30 s.
    "RAY_agent_register_timeout_ms": "100000",
    "RAY_raylet_start_wait_time_s": "120",
}
"""Settings of a cluster on this machine alone, unless the user sets others."""
_MOST_OBJECTS = 100 << 20  # Bytes: lines pass through Ray one by one, and nothing is stored there.


@dataclass(frozen=True)
class Installed:
    project: str
    """Version of this project."""
    code: str
    """Digest of its modules: two checkouts of one version may differ."""
    python: str
    packages: dict[str, str]


def installed() -> Installed:
    code = sha256()
    for name in ("harness", "systems"):
        spec = find_spec(name)
        for folder in sorted(spec.submodule_search_locations or ()) if spec else ():
            for path in sorted(Path(folder).rglob("*.py")):
                code.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    python = ".".join(platform.python_version_tuple()[:2])
    return Installed(version(DISTRIBUTION), code.hexdigest(), python, dict(package_versions()))


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


def inspect_here(path: str) -> tuple[Installed, str | None]:
    """What is installed on the machine where this is called, and the text of a small file; None if it has none."""
    held = None
    with suppress(OSError):
        held = Path(path).read_text(encoding="utf-8")[:1000]
    return installed(), held


@dataclass(frozen=True)
class Machine:
    node_id: str
    host: str
    cpus: int


class RayCluster:
    """An `Executor` over the machines of a cluster. Its methods may be called from any thread."""

    def __init__(self, address: str, machines: list[Machine], most: int | None, results: Path, say: Say) -> None:
        """`most`: workers at once; None: one for each processor."""
        self.address, self.machines, self._results, self._say = address, machines, results, say
        self.n_cpus = sum(machine.cpus for machine in machines)
        self._n_workers = min(most or self.n_cpus, self.n_cpus)
        self._busy: Counter[str] = Counter()
        self._lost: set[str] = set()
        self._lock = threading.Lock()

    def run_cells(self, cells: Sequence[Cell], context: RunContext) -> list[CellResult]:
        return run_spread(cells, context, self.start, self._n_workers, ends_within_s=ALONE_S)

    def scoring(self, plan: EvaluationPlan, warn: Callable[[str], None]) -> RemoteScoring:
        return SpreadScoring(plan, self._results, self.start, self._n_workers, warn)

    def start(self) -> ActorConnection:
        """A worker on the machine with most room. Raises WorkerLost if the machine was lost meanwhile,
        HarnessError if all machines or the cluster were.
        """
        check_answers(self.address)
        with self._lock:
            there = [machine for machine in self.machines if machine.node_id not in self._lost]
            if not there:
                raise ServiceUnavailable(
                    f"no machine of the Ray cluster at {self.address} is left",
                    "restart some, then run the same command again: it resumes",
                )
            machine = min(there, key=lambda machine: self._busy[machine.node_id] / machine.cpus)
            self._busy[machine.node_id] += 1
        try:
            return ActorConnection(
                machine.node_id, machine.host, self._say, lambda is_lost: self._leave(machine, is_lost)
            )
        except WorkerLost:
            self._leave(machine, True)
            raise

    def _leave(self, machine: Machine, is_lost: bool) -> None:
        with self._lock:
            self._busy[machine.node_id] -= 1
            if is_lost and machine.node_id not in {found.node_id for found in _machines()}:
                self._lost.add(machine.node_id)


def check_answers(address: str) -> None:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), 5.0).close()
    except ValueError:
        raise ConfigError(f"'{address}' is no address of a Ray cluster", "give HOST:PORT, or local") from None
    except OSError as error:
        raise ServiceUnavailable(
            f"no Ray cluster answers at {address} ({error})",
            "start it (ray start --head), then run the same command again: it resumes",
        ) from error


@contextmanager
def join_cluster(settings: RunnerConfig, results: Path, reporter: Reporter) -> Iterator[RayCluster]:
    """Connect to the cluster at `ray_address`, or to that of this machine, and check that each machine runs the
    same code and sees `results`; the block ends the connection. See `ExecutorSpec.join`.
    """
    need("executor-ray", "ray")
    address = settings.ray_address
    if address and "://" in address:
        raise ConfigError(
            f"{address} is no address of a Ray cluster", "give its HOST:PORT, and run this inside the cluster"
        )
    if address and address != LOCAL:
        check_answers(address)
    if address == LOCAL:
        # Ray reads its settings when it is loaded. The token keeps other users of this machine and its network
        # from running code as this user; it is written to no file.
        for name, value in LOCAL_SETTINGS.items():
            os.environ.setdefault(name, value)
        keep_made(os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32)))
    import ray

    with _joined(address):
        known = ray.get_runtime_context().gcs_address
        cluster = RayCluster(known, _machines(), settings.workers, results, reporter.say)
        if not cluster.machines:
            raise ServiceUnavailable(f"the Ray cluster at {known} has no processors", "start some: ray start")
        _check_machines(cluster.machines, results.resolve(), reporter.say)
        reporter.say(f"Ray cluster at {known}: {len(cluster.machines)} machines, {cluster.n_cpus} processors")
        yield cluster


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
            if address is None and isinstance(error, ConnectionError):
                fix = "give --ray-address HOST:PORT, or --ray-address local for one on this machine only"
                raise ServiceUnavailable("this machine is in no Ray cluster", fix) from error
            said = " ".join(str(error).split())[:400]
            raise ServiceUnavailable(
                f"cannot join the Ray cluster at {address or 'auto'} ({said})",
                "run this on a machine of the cluster, with the same Ray and Python versions and RAY_AUTH_TOKEN",
            ) from error
        finally:
            # Ray replaces the handler of the signal that stops a run.
            with suppress(ValueError):
                signal.signal(signal.SIGTERM, stops)
        yield


def _machines() -> list[Machine]:
    import ray

    return [
        Machine(node["NodeID"], str(node["NodeManagerHostname"]), int(node["Resources"]["CPU"]))
        for node in ray.nodes()
        if node["Alive"] and node["Resources"].get("CPU", 0) >= 1
    ]


def _check_machines(machines: Sequence[Machine], results: Path, say: Say) -> None:
    """Raise HarnessError for the first machine on which a worker would behave differently."""
    token, ours = secrets.token_hex(16), installed()
    seen = results / f".seen-{token[:8]}"
    with explained_io("write", seen):
        seen.write_text(token, encoding="utf-8")
    try:
        found = _inspected(machines, str(seen))
    finally:
        seen.unlink(missing_ok=True)
    for machine, (theirs, held) in zip(machines, found, strict=True):
        if why := differs(theirs, ours):
            raise ConfigError(f"{machine.host} {why}", "install the same on every machine of the cluster")
        if held != token:
            raise ConfigError(
                f"{machine.host} does not see {results}",
                "with --results, name a folder that every machine of the cluster has under the same path",
            )
        if others := other_packages(theirs, ours):
            say(f"{machine.host} has other versions: {others}")


def _inspected(machines: Sequence[Machine], path: str) -> list[tuple[Installed, str | None]]:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On

    look, answers = ray.remote(inspect_here), []
    for machine in machines:
        there = look.options(num_cpus=0, max_retries=0, scheduling_strategy=On(machine.node_id, soft=False))
        answers.append(there.remote(path))
    found = []
    for machine, answer in zip(machines, answers, strict=True):
        try:
            found.append(ray.get(answer, timeout=60.0))
        except Exception as error:
            said = next((line for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__)
            raise ServiceUnavailable(
                f"{machine.host} of the Ray cluster cannot run a worker ({said.strip()[:300]})",
                "install the same version of this project there as here",
            ) from error
    return found


SPEC = ExecutorSpec("ray", join_cluster, needs_own_process=True)
