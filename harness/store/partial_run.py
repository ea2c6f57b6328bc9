"""reach.json: the queries over which an interleaved run is complete after its budget was exhausted.

Without this file, or if it names no queries, a closed run is complete over its whole sample.
"""

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from harness.core.errors import explained_io
from harness.store import atomic_files

_FIX = "run the same command again: it continues with all of its queries"


class PartialRun(BaseModel):
    """The queries over which a run was closed, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    query_ids: tuple[str, ...] = ()
    """In the order answered; empty: the whole sample."""
    why: str = ""
    """Why it ended there, as the continuation of "because ..."; empty: all queries were answered."""
    looks: tuple[int, ...] = ()
    """Number of queries at each earlier closing, ascending. Each closing allowed a look at the results."""


class PartialRunFile:
    """Reads and writes reach.json of a run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> PartialRun | None:
        """The content; None if there is no file. StoreError if it is damaged."""
        return atomic_files.read_json(self.path, PartialRun, _FIX) if self.path.exists() else None

    def close(self, query_ids: tuple[str, ...], why: str) -> None:
        """Record over which queries the run is closed. Writes nothing for a run that was never closed early."""
        earlier = self.read()
        if earlier is None and not query_ids:
            return
        looks: tuple[int, ...] = ()
        if earlier is not None:
            now = len(earlier.query_ids)
            grown = now and now != len(query_ids)
            looks = tuple(sorted({*earlier.looks, now})) if grown else earlier.looks
        atomic_files.write_json(self.path, PartialRun(query_ids=query_ids, why=why, looks=looks))

    def remove(self) -> None:
        """Delete the file."""
        with explained_io("remove", self.path):
            self.path.unlink(missing_ok=True)
