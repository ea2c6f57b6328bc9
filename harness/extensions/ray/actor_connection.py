"""A connection to one worker through a Ray actor on its machine."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.extensions.ray.remote_worker import Received, WorkerLost
from harness.extensions.ray.worker_agent import WorkerAgent

_STARTS_S = 30.0
_MOST_STARTS = 20
_SILENT_S = 30.0
"""An actor that has not answered for this long, instead of every second, is lost. Ray ends the whole process
without any message a minute after it loses its cluster; this limit comes first.
"""
_ENDS_S = 5.0


class ActorConnection:
    """See `WorkerConnection`."""

    def __init__(self, node_id: str, host: str, say: Callable[[str], None], left: Callable[[bool], None]) -> None:
        """Start a worker on that node and wait for it. `left(is_lost)` is called once, when it ends."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On

        self._left, self._is_lost, self._has_left = left, False, False
        self._host, self._get = host, ray.get
        actor = ray.remote(WorkerAgent).options(
            num_cpus=1, max_restarts=0, max_concurrency=4, scheduling_strategy=On(node_id, soft=False)
        )
        self._actor: Any = actor.remote(str(Path.cwd()))
        self.pid = self._begun(say)

    def _begun(self, say: Callable[[str], None]) -> int:
        from ray.exceptions import GetTimeoutError

        here = self._actor.here.remote()
        for number in range(_MOST_STARTS):
            try:
                return int(self._get(here, timeout=_STARTS_S))
            except GetTimeoutError:
                if not number:
                    say(f"waiting for a free processor of {self._host}")
            except Exception as error:
                raise self._lost(error) from error
        self._end_actor()
        raise WorkerLost(f"{self._host} has had no free processor for {_STARTS_S * _MOST_STARTS:.0f} s")

    def send(self, lines: bytes) -> None:
        """See `WorkerConnection`."""
        self._asked(self._actor.send.remote(lines))

    def receive(self) -> Received:
        """See `WorkerConnection`."""
        return Received(*self._asked(self._actor.receive.remote()))

    def kill(self) -> None:
        """See `WorkerConnection`."""
        with suppress(Exception):
            self._get(self._actor.kill.remote(), timeout=_ENDS_S)

    def close(self) -> None:
        """See `WorkerConnection`."""
        self._end_actor()
        if not self._has_left:
            self._has_left = True
            self._left(self._is_lost)

    def _asked(self, answer: Any) -> Any:
        try:
            return self._get(answer, timeout=_SILENT_S)
        except Exception as error:
            raise self._lost(error) from error

    def _lost(self, error: Exception) -> WorkerLost:
        self._is_lost = True
        return WorkerLost(f"{self._host}: {type(error).__name__}")

    def _end_actor(self) -> None:
        import ray

        with suppress(Exception):
            ray.kill(self._actor)
