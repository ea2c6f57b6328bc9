"""The demo: a small corpus of our own in the schema of MultiHop-RAG. It needs no data directory."""

from __future__ import annotations

from pathlib import Path

from harness.core.errors import DISTRIBUTION, DataError
from harness.datasets.local_files import find_in, read_rows
from harness.datasets.multihop_rag import build
from harness.protocols import DatasetSpec, RawDataset

_PACKAGE = Path(__file__).resolve().parents[1]
_FOLDERS = (_PACKAGE.parent / "data", _PACKAGE / "_bundled" / "data")
"""The folder in a checkout and in an installed wheel."""


def load(_subset: str) -> RawDataset:
    corpus, queries = (read_rows(shipped_file("demo", name)) for name in ("corpus.json", "queries.json"))
    return build(corpus, queries, prefix="demo")


def shipped_file(data: str, name: str) -> Path:
    for folder in _FOLDERS:
        if path := find_in(folder / data, name):
            return path
    fix = f"reinstall {DISTRIBUTION} or restore data/{data}"
    raise DataError(f"file {name} is missing in {_FOLDERS[0] / data}", fix)


SPEC = DatasetSpec(
    name="demo",
    summary="our own small multi-hop corpus, shipped with the harness; for smoke runs, not for conclusions",
    load=load,
    primary_measure="accuracy",
)
