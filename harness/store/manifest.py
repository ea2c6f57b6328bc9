"""The files that describe a run: manifest.json, done.json, and the rows of sample.jsonl."""

import json
from collections.abc import Iterable
from sys import intern
from typing import Any, Self

from pydantic import model_validator

from harness.core.records import Query, Record, Reference
from harness.store.compressed_memory import CompressedByKey

SCHEMA_VERSION = 7
"""Increase it when the format of a run directory changes. Other versions are not read."""
_ABSENT = object()
_KINDS: dict[str, type | tuple[type, ...]] = {
    "identity.dataset": dict,
    "identity.dataset.name": str,
    "identity.dataset.subset": str,
    "identity.dataset.digest": str,
    "identity.system": dict,
    "identity.system.name": str,
    "identity.system.index": dict,
    "identity.system.answer": dict,
    "identity.models": dict,
    "identity.limits": dict,
    "identity.repeats": int,
    "identity.answers": dict,
    "identity.imported": dict,
    "config.dataset": (dict, type(None)),
    "config.models": (dict, type(None)),
    "config.models.generator": (dict, type(None)),
    "config.measure": (str, type(None)),
    "config.margin": (int, float),
    "dataset.name": str,
    "dataset.subset": str,
    "dataset.digest": str,
    "dataset.type_mix": dict,
    "dataset.n_queries": int,
    "dataset.n_documents": (int, type(None)),
    "dataset.corpus_digest": (str, type(None)),
    "dataset.notes": list,
}
"""Types that readers of a manifest rely on, for keys that are present."""


class Manifest(Record):
    """manifest.json: the identity of a run. Written first, never changed."""

    schema_version: int
    run_id: str
    identity: dict[str, Any]
    """Everything that determines the result, and nothing else; the run id is a hash of it."""
    config: dict[str, Any]
    """The resolved config of this run, including defaults."""
    dataset: dict[str, Any]
    """Name, subset, digest, type_mix (queries per type in the whole data set), counts and notes."""
    index_id: str
    baseline: str = ""
    """For a baseline, which is excluded from the ranking: the sentence that every report prints. Empty otherwise.
    """
    notes: tuple[str, ...] = ()
    """Notes on this run that every report prints."""
    machine: dict[str, Any]
    packages: dict[str, str]
    git_commit: str
    created_at: str

    @model_validator(mode="after")
    def _fits_its_readers(self) -> Self:
        models = self.identity.get("models")
        if isinstance(models, dict) and not all(isinstance(one, dict) for one in models.values()):
            raise ValueError("identity.models must have an object for each role")
        for path, kind in _KINDS.items():
            value: Any = {"identity": self.identity, "config": self.config, "dataset": self.dataset}
            for part in path.split("."):
                value = value.get(part, _ABSENT) if isinstance(value, dict) else _ABSENT
            if value is not _ABSENT and (not isinstance(value, kind) or isinstance(value, bool)):
                raise ValueError(f"{path} cannot be {json.dumps(value)[:60]}")
        return self

    @property
    def name(self) -> str:
        """The user's name for the run; empty if there is none."""
        return str(self.config.get("name") or "")

    @property
    def is_imported(self) -> bool:
        """Whether the answers were imported: nothing ran here, and there is no index."""
        return "imported" in self.identity

    @property
    def has_generator(self) -> bool:
        """Whether the run has answers, from a generator or by import."""
        return self.models.get("generator") is not None and self.model("generator").get("provider") != "none"

    @property
    def system(self) -> dict[str, Any]:
        """Name, version and parameters of its system; empty if the identity has none."""
        return dict(self.identity.get("system") or {})

    @property
    def models(self) -> dict[str, Any]:
        """Role -> the identity of its model."""
        return dict(self.identity.get("models") or {})

    def model(self, role: str) -> dict[str, Any]:
        """The identity of the model of a role; empty if the run has none."""
        return dict(self.models.get(role) or {})


class Done(Record):
    """done.json: the completion marker, written last. Without it a run can be resumed."""

    n_expected: int
    n_ok: int
    n_error: int
    finished_at: str


class SampleRow(Record):
    """One line of sample.jsonl: a sampled query and its reference."""

    query: Query
    reference: Reference


def sample_rows(queries: Iterable[Query], references: Iterable[Reference]) -> list[SampleRow]:
    """Queries with their references, in the same order."""
    pairs = zip(queries, references, strict=True)
    return [SampleRow(query=query, reference=reference) for query, reference in pairs]


def rows_by_id(rows: Iterable[SampleRow]) -> CompressedByKey[str, SampleRow]:
    """Sampled queries by id, in order."""
    found: CompressedByKey[str, SampleRow] = CompressedByKey(SampleRow)
    for row in rows:
        found.put(intern(row.query.query_id), row)
    return found
