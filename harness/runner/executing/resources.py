"""CPU and RAM over time: the machine, the system's process tree, and the model server apart."""

import time
from dataclasses import dataclass

import psutil

from harness.store import RunDir

HEADER = (
    "time_s,phase,machine_cpu_percent,machine_ram_bytes,system_cpu_percent,system_rss_bytes,"
    "server_cpu_percent,server_rss_bytes"
)


@dataclass
class _Tree:
    """A process and all its descendants."""

    root: psutil.Process
    cpu_s: float = 0.0
    at: float = 0.0

    def sample(self) -> tuple[float, int]:
        """(CPU percent since the last sample, 100 = one core busy; resident bytes)."""
        now, cpu_s, rss = time.monotonic(), 0.0, 0
        for process in _members(self.root):
            try:
                times = process.cpu_times()
                cpu_s += times.user + times.system
                rss += process.memory_info().rss
            except psutil.Error:
                continue
        percent = 100.0 * max(0.0, cpu_s - self.cpu_s) / (now - self.at) if self.at else 0.0
        self.cpu_s, self.at = cpu_s, now
        return percent, rss


class ResourceSampler:
    """Writes one line to resources.csv whenever it is due."""

    def __init__(self, run: RunDir, phase: str, interval_s: float, server_pid: int | None) -> None:
        self._run = run
        self._phase = phase
        self._interval_s = interval_s
        self._system: _Tree | None = None
        self._server = _tree(server_pid)
        self._due = time.monotonic()
        psutil.cpu_percent()  # The first call only sets the mark that the next one measures from.

    def watch(self, pid: int) -> None:
        """From now on `pid` is the system."""
        self._system = _tree(pid)

    def wait_s(self) -> float:
        """Seconds until the next sample is due."""
        return max(0.0, self._due - time.monotonic())

    def sample_if_due(self) -> None:
        """Take a sample if it is time."""
        if self.wait_s() > 0:
            return
        self._due = time.monotonic() + self._interval_s
        fields = [f"{time.time():.3f}", self._phase, f"{psutil.cpu_percent():.1f}"]
        memory = psutil.virtual_memory()
        fields.append(str(memory.total - memory.available))
        for tree in (self._system, self._server):
            if tree is None:
                fields += ["", ""]
            else:
                percent, rss = tree.sample()
                fields += [f"{percent:.1f}", str(rss)]
        self._run.append_resources(HEADER, ",".join(fields))


def _tree(pid: int | None) -> _Tree | None:
    try:
        tree = _Tree(psutil.Process(pid)) if pid is not None else None
    except psutil.NoSuchProcess:
        return None
    if tree is not None:
        tree.sample()
    return tree


def _members(root: psutil.Process) -> list[psutil.Process]:
    try:
        return [root, *root.children(recursive=True)]
    except psutil.Error:
        return []
