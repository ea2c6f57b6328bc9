"""The header and the footer of a run, and the sample between them."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from harness.records import Query, Record, Reference

SCHEMA_VERSION = 5
"""Raised when a run directory of this version could be misread by an older one."""


class Manifest(BaseModel):
    """manifest.json: what the run is. Written first, never changed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: int
    run_id: str
    identity: dict[str, Any]
    """What was hashed into the run id: everything that determines the result, and nothing else."""
    config: dict[str, Any]
    """The resolved config of this cell, with every default."""
    dataset: dict[str, Any]
    """Name, subset, digest, type_mix (queries per type in the whole data set), counts and notes."""
    index_id: str
    bracket: str = ""
    """Of a run that is no contender but a mark to read the others by: the sentence that every report prints."""
    notes: tuple[str, ...] = ()
    """What every report says of this run."""
    machine: dict[str, Any]
    packages: dict[str, str]
    git_commit: str
    created_at: str

    @property
    def is_imported(self) -> bool:
        """Whether the answers were produced elsewhere: nothing ran here, and there is no index."""
        return "imported" in self.identity


class Done(BaseModel):
    """done.json: written last. Without it a run is resumable."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    n_expected: int
    n_ok: int
    n_error: int
    finished_at: str


class SampleRow(Record):
    """One line of sample.jsonl: a sampled query and its gold side."""

    query: Query
    reference: Reference
