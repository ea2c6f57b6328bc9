"""Everything that the store keeps in a folder of results, read through the store, one part after the other."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path

from harness.models.embedding_cache import EmbeddingCache
from harness.records import Document
from harness.store import CallKey, IndexDir, Journal, RunDir
from harness.store.index_dir import Corpora
from systems.parts.chunking import ChunkParams, iter_chunks

Reader = Callable[[Path], object]
"""What it gives for a folder; None, or an empty list: it is not there."""


def readers(whole: Path) -> Mapping[str, Reader]:
    """A reader for each part of what `whole` holds, by a name that says where it lies."""
    found: dict[str, Reader] = {}
    for run in sorted((whole / "results").glob("demo--*")):
        for name, read in _OF_RUNS.items():
            found[f"{run.name}/{name}"] = lambda folder, run=run, read=read: read(
                RunDir(folder / "results" / run.name)
            )
    for corpus in (whole / "results" / "corpora").glob("*.jsonl"):
        found[f"corpora/{corpus.stem}"] = lambda folder, corpus=corpus: Corpora(folder / "results").documents(
            corpus.stem
        )
    for index in (whole / "results" / "indexes").glob("*/index.json"):
        found[f"indexes/{index.parent.name}"] = lambda folder, index=index: _index(folder, index.parent.name)
    for path in (whole / "results").rglob("calls.sqlite"):
        keys = [
            CallKey(*map(str, row[:3]), int(str(row[3])))
            for row in _rows(path, "SELECT scope, role, request_digest, occurrence FROM calls")
        ]
        name = path.relative_to(whole).as_posix()
        found[name] = lambda folder, name=name, keys=keys: _calls(folder / name, keys)
    cache = whole / "cache" / "embeddings.sqlite"
    for model in {str(row[0]) for row in _rows(cache, "SELECT model FROM checked")}:
        texts = [chunk.text for chunk in iter_chunks(_documents(whole), ChunkParams())]
        found[f"cache of {model}"] = lambda folder, model=model, texts=texts: _vectors(folder, model, texts)
    return found


def fits(name: str, found: object, expected: object) -> bool:
    """Whether what was read is what was kept, or as good as absent, which a reader sees."""
    if isinstance(found, list) and isinstance(expected, list) and _can_be_fewer(name):
        return all(one in expected for one in found)
    return found == expected or found is None or (not found and name.startswith("corpora/"))


def _can_be_fewer(name: str) -> bool:
    """Calls that are not there are made again, vectors computed again."""
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


def _index(folder: Path, index_id: str) -> object:
    """None: it is built again."""
    index = IndexDir(folder / "results", index_id)
    return None if index.mend() else index.record()


def _calls(path: Path, keys: Iterable[CallKey]) -> object:
    """The calls that are there; one that is not is made again."""
    with closing(Journal(path)) as journal:
        return [call for key in keys if (call := journal.find(key))]


def _documents(whole: Path) -> list[Document]:
    paths = (whole / "results" / "corpora").glob("*.jsonl")
    return [document for path in paths for document in Corpora(whole / "results").documents(path.stem)]


def _vectors(folder: Path, model: str, texts: list[str]) -> object:
    with closing(EmbeddingCache(folder / "cache" / "embeddings.sqlite", model)) as cache:
        kept = cache.payers(texts)
        return [(text, kept[text], cache.get([text]).tobytes(), cache.seconds([text])) for text in kept]


def _rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchall()
