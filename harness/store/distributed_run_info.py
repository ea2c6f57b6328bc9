"""spread.json: marks a run that was answered on several machines. This affects its times, not its answers."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from harness.store import atomic_files

_FIX = "delete it and run the same command again: the run then counts as answered on one machine"


class ClusterInfo(BaseModel):
    """How a run was distributed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    n_workers: int = Field(ge=1)
    """Largest number of workers that answered queries in parallel."""


class ClusterInfoFile:
    """Reads and writes spread.json of a run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> ClusterInfo | None:
        """The content; None if the run was answered on one machine. StoreError if it is damaged."""
        return atomic_files.read_json(self.path, ClusterInfo, _FIX) if self.path.exists() else None

    def keep(self, n_workers: int) -> None:
        """Record the number of workers if it is larger than before."""
        earlier = self.read()
        if earlier is None or earlier.n_workers < n_workers:
            atomic_files.write_json(self.path, ClusterInfo(n_workers=n_workers))
