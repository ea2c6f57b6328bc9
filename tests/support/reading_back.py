"""Reads everything in a results folder through the store, one part after the other."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path

from harness.core.records import Document
from harness.models.embedding_cache import EmbeddingCache
from harness.store import CallKey, IndexDir, Journal, RunDir
from harness.store.index_dir import Corpora
from systems.common.chunking import ChunkParams, iter_chunks

_KEYS = "SELECT scope, role, request_digest, occurrence FROM calls"
Reader = Callable[[Path], object]
"""Reads one part of a folder; None, or an empty list: it is missing."""


def readers(whole: Path) -> Mapping[str, Reader]:
    """A reader for each part of `whole`, by a name that says where it is."""
    found: dict[str, Reader] = {}
    for run in sorted((whole / "results").glob("demo--*")):
        for part, read in _OF_RUNS.items():
            found[f"{run.name}/{part}"] = partial(_of_run, run.name, read)
    for corpus in (whole / "results" / "corpora").glob("*.jsonl"):
        found[f"corpora/{corpus.stem}"] = partial(_corpus, corpus.stem)
    for index in (whole / "results" / "indexes").glob("*/index.json"):
        found[f"indexes/{index.parent.name}"] = partial(_index, index.parent.name)
    for path in (whole / "results").rglob("calls.sqlite"):
        keys = [
            CallKey(str(scope), str(role), str(request), int(str(occurrence)))
            for scope, role, request, occurrence in _rows(path, _KEYS)
        ]
        name = path.relative_to(whole).as_posix()
        found[name] = partial(_calls, name, keys)
    texts = [chunk.text for chunk in iter_chunks(_documents(whole), ChunkParams())]
    for model in {
        str(row[0]) for row in _rows(whole / "cache" / "embeddings.sqlite", "SELECT model FROM vectors")
    }:
        found[f"cache of {model}"] = partial(_vectors, model, texts)
    return found


def fits(name: str, found: object, expected: object) -> bool:
    """Whether the read content equals the stored one, or is visibly missing."""
    if isinstance(found, list) and isinstance(expected, list) and _can_be_fewer(name):
        return all(one in expected for one in found)
    return found == expected or found is None or (not found and name.startswith("corpora/"))


def _can_be_fewer(name: str) -> bool:
    """Missing calls are made again, missing vectors computed again."""
    return name.endswith("calls.sqlite") or name.startswith("cache ")


_OF_RUNS: Mapping[str, Callable[[RunDir], object]] = {
    "manifest": RunDir.manifest,
    "sample": RunDir.sample,
    "records": lambda run: list(run.iter_records()),
    "scores": RunDir.scores,
    "evaluations": RunDir.evaluations,
    "index": RunDir.index,
    "done": RunDir.done,
    "estimate": RunDir.estimate,
    "resources": lambda run: path.read_bytes() if (path := run.resources_path()) else None,
}


def _of_run(name: str, read: Callable[[RunDir], object], folder: Path) -> object:
    return read(RunDir(folder / "results" / name))


def _corpus(digest: str, folder: Path) -> object:
    return Corpora(folder / "results").documents(digest)


def _index(index_id: str, folder: Path) -> object:
    """None: it is built again."""
    index = IndexDir(folder / "results", index_id)
    return None if index.remove_damaged() else index.record()


def _calls(name: str, keys: Iterable[CallKey], folder: Path) -> object:
    """The stored calls; missing ones are made again."""
    with closing(Journal(folder / name)) as journal:
        return [call for key in keys if (call := journal.find(key))]


def _documents(whole: Path) -> list[Document]:
    paths = (whole / "results" / "corpora").glob("*.jsonl")
    return [document for path in paths for document in Corpora(whole / "results").documents(path.stem)]


def _vectors(model: str, texts: list[str], folder: Path) -> object:
    with closing(EmbeddingCache(folder / "cache" / "embeddings.sqlite", model)) as cache:
        kept = cache.payers(texts)
        return [(text, kept[text], cache.get([text]).tobytes(), cache.seconds([text])) for text in kept]


def _rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchall()
