"""The unanswered queries of a run, handed to workers in shards."""

import threading
from collections import Counter, deque
from collections.abc import Sequence

from harness.runner.executing.messages import QueryTask

_MOST_LOSSES = 2
"""A query during which more workers than this were lost is suspected of killing them."""
_SHARES = 2
"""Size of a shard: remaining queries / (this * workers). Fast workers take more shards."""


class WorkQueue:
    """Queries without a record, in order. Thread-safe."""

    def __init__(self, todo: Sequence[QueryTask], n_workers: int, at_once: int) -> None:
        """`at_once`: how many queries a worker answers concurrently; the least size of a shard."""
        self._left = deque(todo)
        self._n_workers, self._at_once = n_workers, at_once
        self._losses: Counter[QueryTask] = Counter()
        self._lock = threading.Lock()
        self._is_closed = False

    def take(self) -> list[QueryTask]:
        """The next shard; empty if none is left or the queue is closed."""
        with self._lock:
            if self._is_closed:
                return []
            share = len(self._left) // (_SHARES * self._n_workers)
            return [self._left.popleft() for _ in range(min(len(self._left), max(self._at_once, share)))]

    def give_back(self, todo: Sequence[QueryTask]) -> None:
        """Return the unanswered queries of a shard."""
        with self._lock:
            self._left.extendleft(reversed(todo))

    def suspects(self, under_way: Sequence[QueryTask]) -> list[QueryTask]:
        """Which of these queries, running when a worker was lost, have now lost too many workers."""
        with self._lock:
            self._losses.update(under_way)
            return [one for one in under_way if self._losses[one] > _MOST_LOSSES]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to take."""
        with self._lock:
            return self._is_closed or not self._left

    def close(self) -> None:
        """Hand out no more shards."""
        with self._lock:
            self._is_closed = True
