"""spread.json: a run was answered by workers on several machines. Its seconds depend on it, no answer does."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from harness.store import atomic_files

_FIX = "delete it and run the same command again: the run is then as one that was answered on one machine"


class SpreadRun(BaseModel):
    """How a run was spread."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    n_workers: int = Field(ge=1)
    """The most that answered its queries at once."""


class SpreadFile:
    """Reads and writes one spread.json."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> SpreadRun | None:
        """What it says; None: the run was answered on one machine. StoreError: it is damaged."""
        return atomic_files.read_json(self.path, SpreadRun, _FIX) if self.path.exists() else None

    def keep(self, n_workers: int) -> None:
        """Note that so many answer from now on."""
        earlier = self.read()
        if earlier is None or earlier.n_workers < n_workers:
            atomic_files.write_json(self.path, SpreadRun(n_workers=n_workers))
