"""What of a cell is still to be answered, cut into shards as workers ask for them."""

import threading
from collections import Counter, deque
from collections.abc import Sequence

from harness.runner.executing.messages import QueryTask

_MOST_LOSSES = 2
"""How often the machine of a worker may be lost while a query is under way, before the query is suspected."""
_SHARES = 2
"""Of what is left, a worker takes one of so many shares for each worker: whoever is quick takes more often."""


class WorkQueue:
    """Queries without a record, in their order. Its methods are called from any thread."""

    def __init__(self, todo: Sequence[QueryTask], n_workers: int, at_once: int) -> None:
        """`at_once`: how many queries a worker answers side by side; it takes no fewer while there are as many."""
        self._left = deque(todo)
        self._n_workers, self._at_once = n_workers, at_once
        self._losses: Counter[QueryTask] = Counter()
        self._lock = threading.Lock()
        self._is_closed = False

    def take(self) -> list[QueryTask]:
        """The next shard; empty: there is none, or nobody is to take more."""
        with self._lock:
            if self._is_closed:
                return []
            share = len(self._left) // (_SHARES * self._n_workers)
            return [self._left.popleft() for _ in range(min(len(self._left), max(self._at_once, share)))]

    def give_back(self, todo: Sequence[QueryTask]) -> None:
        """Of a shard, what was not answered."""
        with self._lock:
            self._left.extendleft(reversed(todo))

    def suspects(self, under_way: Sequence[QueryTask]) -> list[QueryTask]:
        """Of queries that were under way when a machine was lost, those for which that is once too often."""
        with self._lock:
            self._losses.update(under_way)
            return [one for one in under_way if self._losses[one] > _MOST_LOSSES]

    @property
    def is_empty(self) -> bool:
        """Whether nobody finds anything to take."""
        with self._lock:
            return self._is_closed or not self._left

    def close(self) -> None:
        """Nobody is to take more."""
        with self._lock:
            self._is_closed = True
