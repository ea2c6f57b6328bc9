"""reach.json: over which of its queries a run is closed, where systems took turns until a budget was used up.

Without it, or where it names none, a closed run is one over its whole sample.
"""

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from harness.core.errors import explained_io
from harness.store import atomic_files

_FIX = "run the same command again: it goes on with all of its queries"


class Reach(BaseModel):
    """The queries over which a run was closed, and what closed it there."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    query_ids: tuple[str, ...] = ()
    """In the order in which they were taken; empty: all of the sample."""
    why: str = ""
    """What ended it there, in words that stand behind "because"; empty: every query was answered."""
    looks: tuple[int, ...] = ()
    """How many queries it held each time it was closed before, ascending: each was a look at the results."""


class ReachFile:
    """Reads and writes one reach.json."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Reach | None:
        """What it says; None: there is none. StoreError: it is damaged."""
        return atomic_files.read_json(self.path, Reach, _FIX) if self.path.exists() else None

    def close(self, query_ids: tuple[str, ...], why: str) -> None:
        """Note where the run is closed; nothing is written of a run that was never closed early."""
        earlier = self.read()
        if earlier is None and not query_ids:
            return
        looks: tuple[int, ...] = ()
        if earlier is not None:
            now = len(earlier.query_ids)
            grown = now and now != len(query_ids)
            looks = tuple(sorted({*earlier.looks, now})) if grown else earlier.looks
        atomic_files.write_json(self.path, Reach(query_ids=query_ids, why=why, looks=looks))

    def remove(self) -> None:
        """Forget it."""
        with explained_io("remove", self.path):
            self.path.unlink(missing_ok=True)
