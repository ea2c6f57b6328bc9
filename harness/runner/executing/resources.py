"""Samples CPU and RAM over time: of the machine, of the system's process tree, and separately of its servers."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

import psutil

from harness.core.proxies import is_this_machine
from harness.statistics.resource_usage import NOT_SAMPLED, QUANTITIES

HEADER = ",".join(("time_s", "phase", *QUANTITIES))


_CpuSeconds = dict[psutil.Process, float]
"""CPU seconds of each process since its start."""


class _Processes:
    """Processes with their descendants, and what they have used since the last sample."""

    def __init__(self, pids: Iterable[int], without: Sequence[psutil.Process] = ()) -> None:
        """`without`: descendants that are counted elsewhere, with their own descendants."""
        self.roots: list[psutil.Process] = []
        for pid in pids:
            with suppress(psutil.NoSuchProcess):
                self.roots.append(psutil.Process(pid))
        self._without = without
        self._cpu_s: _CpuSeconds = {}
        self._at = 0.0
        self._paused: tuple[float, _CpuSeconds] | None = None
        self.sample()

    def sample(self) -> tuple[float, int] | None:
        """(CPU percent since the last sample, 100 = one busy core; resident bytes). None if a root has ended."""
        now, cpu_s, rss = self._used()
        if not self.roots or not all(rss.get(root) for root in self.roots):
            return None
        percent = 100.0 * sum(_since(self._cpu_s, cpu_s).values()) / (now - self._at) if self._at else 0.0
        self._cpu_s, self._at = cpu_s, now
        return percent, sum(rss.values())

    def rss_bytes(self) -> int:
        return sum(self._used()[2].values())

    def pause(self) -> None:
        """Count nothing until `resume`."""
        self._paused = self._used()[:2]

    def resume(self) -> None:
        """Continue; the time and CPU since the pause are left out of the next sample."""
        if self._paused is not None:
            now, cpu_s, _ = self._used()
            self._at += now - self._paused[0]
            left_out = _since(self._paused[1], cpu_s)
            self._cpu_s = {one: self._cpu_s.get(one, 0.0) + spent_s for one, spent_s in left_out.items()}
            self._paused = None

    def _used(self) -> tuple[float, _CpuSeconds, dict[psutil.Process, int]]:
        """The time, and the CPU seconds and resident bytes of each process. One that was not waited for has 0."""
        now, cpu_s, rss = time.monotonic(), dict[psutil.Process, float](), dict[psutil.Process, int]()
        members = {one for root in self.roots for one in _members(root)}
        apart = {one for root in self._without if root in members - {*self.roots} for one in _members(root)}
        for process in members - apart:
            try:
                times = process.cpu_times()
                cpu_s[process] = times.user + times.system
                rss[process] = process.memory_info().rss
            except psutil.Error:
                continue
        return now, cpu_s, rss


def _since(before: _CpuSeconds, now: _CpuSeconds) -> _CpuSeconds:
    """CPU seconds of each running process since `before`. Processes that ended are left out."""
    return {one: max(0.0, cpu_s - before.get(one, 0.0)) for one, cpu_s in now.items()}


@dataclass(frozen=True)
class Servers:
    """Servers that a system uses besides its own processes."""

    models: Sequence[str] = ()
    databases: Sequence[str] = ()
    started: int | None = None
    is_system: bool = False
    """The system itself runs at the URLs in `databases`; the worker only sends requests."""


class _Served(_Processes):
    """The local processes that serve some URLs. They are sampled separately from the system."""

    def __init__(self, urls: Sequence[str], started: int | None = None) -> None:
        pids = [listening_at(url) for url in dict.fromkeys(urls)]
        self._is_used = bool(urls) or started is not None
        self._is_whole = None not in pids
        super().__init__(sorted({pid for pid in (started, *pids) if pid is not None}))

    def fields(self) -> list[str]:
        """CPU and RAM of all of them together; `NOT_SAMPLED` if any of them is not visible."""
        if not self._is_used:
            return ["", ""]
        return _fields(self.sample() if self._is_whole else None, NOT_SAMPLED)


def _fields(sample: tuple[float, int] | None, unknown: str = "") -> list[str]:
    return [unknown, unknown] if sample is None else [f"{sample[0]:.1f}", str(sample[1])]


def is_suspended(pid: int | None) -> bool:
    if pid is None:
        return False
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    except psutil.Error:
        return False


class Sampler:
    """Samples the resources of a worker process. This one, for a worker on another machine, samples nothing."""

    def watch(self, pid: int) -> None:
        """Sample the process tree of `pid` as the system."""

    def pause(self) -> None:
        """Pause sampling while the system waits for its next turn."""

    def resume(self) -> None:
        """Continue sampling."""

    def rss_bytes(self) -> int:
        """Resident bytes of the system on this machine now."""
        return 0

    def wait_s(self) -> float:
        """Seconds until the next sample is due."""
        return math.inf

    def sample_if_due(self) -> None:
        """Take a sample if it is due."""


class ResourceSampler(Sampler):
    """Writes one line to resources.csv at each interval."""

    def __init__(
        self, append: Callable[[str, str], None], phase: str, interval_s: float, servers: Servers
    ) -> None:
        """`append(header, line)` receives each sample, as `RunDir.append_resources` does."""
        self._append, self._phase, self._interval_s = append, phase, interval_s
        self._system: _Processes | None = None
        self._is_elsewhere = servers.is_system
        self._servers = (_Served(servers.models, servers.started), _Served(servers.databases))
        self._due = time.monotonic()
        self._left_s = 0.0
        psutil.cpu_percent()  # The first call only sets the starting point for the next one.

    def watch(self, pid: int) -> None:
        # The servers that it started are sampled apart.
        self._system = _Processes([pid], [root for served in self._servers for root in served.roots])

    def pause(self) -> None:
        self._left_s = self.wait_s()
        for processes in self._all():
            processes.pause()

    def resume(self) -> None:
        self._due = time.monotonic() + self._left_s
        for processes in self._all():
            processes.resume()
        psutil.cpu_percent()

    def rss_bytes(self) -> int:
        return self._system.rss_bytes() if self._system else 0

    def _all(self) -> list[_Processes]:
        return [*([self._system] if self._system else []), *self._servers]

    def wait_s(self) -> float:
        return max(0.0, self._due - time.monotonic())

    def sample_if_due(self) -> None:
        if self.wait_s() > 0:
            return
        self._due = time.monotonic() + self._interval_s
        fields = [f"{time.time():.3f}", self._phase, f"{psutil.cpu_percent():.1f}"]
        memory = psutil.virtual_memory()
        fields.append(str(memory.total - memory.available))
        models, asked = (served.fields() for served in self._servers)
        own = _fields(self._system.sample() if self._system else None)
        fields += [*asked, *models, "", ""] if self._is_elsewhere else [*own, *models, *asked]
        self._append(HEADER, ",".join(fields))


def _members(root: psutil.Process) -> list[psutil.Process]:
    try:
        return [root, *root.children(recursive=True)]
    except psutil.Error:
        return []


_PORTS = {"http": 80, "https": 443, "bolt": 7687, "neo4j": 7687}
_FORWARDERS = frozenset(
    ["docker-proxy", "rootlessport", "slirp4netns", "pasta", "gvproxy", "ssh", "sshd", "socat", "kubectl"]
)
"""Processes that forward to a container or another machine. Their CPU and RAM are not those of the server."""


def listening_at(url: str) -> int | None:
    """The process that serves this URL, or its parent if that listens too. None if elsewhere or not visible."""
    parts = urlsplit(url)
    port = parts.port or _PORTS.get(parts.scheme.partition("+")[0])
    if port is None or not is_this_machine(parts.hostname or ""):
        return None
    try:
        found = psutil.net_connections(kind="tcp")
    except psutil.Error:
        # Some operating systems show connections only to an administrator.
        return None
    listening = (one for one in found if one.status == psutil.CONN_LISTEN and one.pid)
    return _first_of_family({one.pid or 0 for one in listening if getattr(one.laddr, "port", None) == port})


def _first_of_family(pids: set[int]) -> int | None:
    for pid in sorted(pids):
        try:
            process = psutil.Process(pid)
            if process.name() in _FORWARDERS:
                return None
            if process.ppid() not in pids:
                return pid
        except psutil.Error:
            continue
    return None
