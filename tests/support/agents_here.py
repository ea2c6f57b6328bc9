"""Workers as of other machines, all of them on this one and without a cluster: agents in this process."""

import threading
from collections.abc import Callable
from contextlib import suppress

from harness.runner.spreading.agent import WorkerAgent
from harness.runner.spreading.wires import Received, WorkerLost


class MachineHere:
    """See `harness.runner.spreading.wires.Wire`. Its machine can be lost at any moment."""

    def __init__(self) -> None:
        self._agent = WorkerAgent(".")
        self.is_lost = False
        self.said = b""
        """Every event that came."""

    def send(self, lines: bytes) -> None:
        self._check()
        self._agent.send(lines)

    def receive(self) -> Received:
        self._check()
        found = Received(*self._agent.receive())
        # What was under way when the machine went never arrives.
        self._check()
        self.said += found.events
        return found

    def kill(self) -> None:
        self._agent.kill()

    def close(self) -> None:
        with suppress(Exception):
            self._agent.kill()

    def lose(self) -> None:
        self.is_lost = True
        self._agent.kill()

    def _check(self) -> None:
        if self.is_lost:
            raise WorkerLost("gone")


class Machines:
    """Starts workers, and loses one of them as soon as `until` is true; `until` is asked every 20 ms."""

    def __init__(self, until: Callable[[], bool] | None = None) -> None:
        self.started: list[MachineHere] = []
        self.lost: list[MachineHere] = []
        self._until = until
        self._over = threading.Event()

    def __enter__(self) -> "Machines":
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def start(self) -> MachineHere:
        self.started.append(MachineHere())
        return self.started[-1]

    def _watch(self) -> None:
        while self._until is not None and not self._over.wait(0.02):
            if self._until() and self.started:
                self.lost.append(self.started[0])
                self.started[0].lose()
                return
