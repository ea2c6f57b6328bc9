"""What every system must keep, as functions that any test can call; run as a script it is a guarded process.

A system is built here as `harness.runner.executing.worker` builds it, with the fake provider behind the real seam.
Each opening has a journal of its own, so no answer is replayed from an earlier one.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path
from typing import Any, Literal

import psutil
from pydantic import BaseModel

from harness.config import EmbedderConfig, GeneratorConfig
from harness.models.clients import build_chat
from harness.models.embedders import build_embedder
from harness.models.embedding_cache import EmbeddingCache
from harness.models.metering import Meter, metered
from harness.models.providers import resolve_embedder, resolve_generator
from harness.models.transport import Seam
from harness.protocols import System
from harness.records import Context, Document, Evidence, IndexStats, Phase, Prediction, Query
from harness.registry import DATASETS, SYSTEMS
from harness.runner.executing.worker import Unnamed, WorkerRuntime
from harness.store import Journal

FAKE = GeneratorConfig(provider="fake", max_retries=0)
NONE = GeneratorConfig(provider="none")
SEED = 11
_numbers = count()


@contextmanager
def opened(
    name: str, folder: Path, generator: GeneratorConfig = FAKE, phase: Phase = "answer"
) -> Iterator[System]:
    """The system of that name with its default parameters over `folder/store`, neither indexed nor loaded; it gets
    the models that its spec names for the phase.
    """
    spec = SYSTEMS.load(name)
    index_params, answer_params = spec.index_params(), spec.answer_params()
    roles = spec.roles(index_params, answer_params)
    named = roles.index if phase == "index" else roles.answer
    (folder / "store").mkdir(parents=True, exist_ok=True)
    journal = Journal(folder / "harness" / f"calls-{os.getpid()}-{next(_numbers)}.sqlite")
    cache = EmbeddingCache(folder / "harness" / "embeddings.sqlite", "fake")
    seam = Seam(journal)
    runtime = WorkerRuntime(
        index_dir=folder / "store",
        seed=SEED,
        generator=build_chat(resolve_generator(generator), seam) if "generator" in named else Unnamed("generator"),
        vectors=build_embedder(resolve_embedder(EmbedderConfig(provider="fake")), seam, cache)
        if "embedder" in named
        else Unnamed("embedder"),
        gold=_demo_gold() if spec.sees_gold else {},
    )
    system = spec.build(index_params, answer_params, runtime)
    try:
        yield system
    finally:
        system.close()
        cache.close()
        journal.close()


def _demo_gold() -> dict[str, Sequence[Evidence]]:
    rows = DATASETS.load("demo").load("default").rows
    return {row.query.query_id: row.reference.evidence for row in rows}


async def build_index(name: str, folder: Path, documents: Sequence[Document]) -> IndexStats:
    """Index `documents`, and close."""
    with opened(name, folder, phase="index") as system, metered(Meter("index")):
        return await system.index(documents)


async def load(system: System) -> None:
    """Load as the worker does."""
    with metered(Meter("load")):
        await system.load()


async def answer(system: System, query: Query, scope: str) -> Prediction:
    """One answer under its own meter; `scope` keeps the calls of one pass apart from those of another."""
    with metered(Meter(f"{scope}/{query.query_id}")):
        return await system.answer(query)


async def answer_each(system: System, queries: Sequence[Query], scope: str) -> list[Prediction]:
    """One after the other."""
    return [await answer(system, query, scope) for query in queries]


async def answer_together(system: System, queries: Sequence[Query], scope: str) -> list[Prediction]:
    """All at once."""
    return list(await asyncio.gather(*(answer(system, query, scope) for query in queries)))


def check_prediction(prediction: Prediction, corpus: Sequence[Document]) -> None:
    """Every context and piece of evidence comes from where it says; contexts stand in rank order."""
    assert isinstance(prediction, Prediction)
    documents = {document.doc_id: document for document in corpus}
    for context in prediction.contexts:
        _check_provenance(context, documents)
    for sentence in prediction.evidence:
        _check_provenance(sentence, documents)
        assert sentence.span is not None, "evidence needs the place it stands at"
    scores = [context.score for context in prediction.contexts]
    scored = [score for score in scores if score is not None]
    assert all(left >= right for left, right in pairwise(scored)), f"contexts are not in rank order: {scores}"


def _check_provenance(context: Context, documents: dict[str, Document]) -> None:
    assert context.text.strip(), "an empty context"
    assert context.doc_ids, f"a context without documents: {context.text[:80]!r}"
    assert len(set(context.doc_ids)) == len(context.doc_ids), f"repeated doc_ids: {context.doc_ids}"
    assert set(context.doc_ids) <= documents.keys(), f"documents that are not in the corpus: {context.doc_ids}"
    if context.span is not None:
        span = context.span
        assert span.doc_id in context.doc_ids
        assert 0 <= span.start < span.end <= len(documents[span.doc_id].text)
        assert documents[span.doc_id].text[span.start : span.end] in context.text


def roles_called(folder: Path, phase: str) -> set[str]:
    """The models that were called over the index in `folder`, in the scope `phase` or one below it."""
    called: set[str] = set()
    for path in (folder / "harness").glob("calls-*.sqlite"):
        with closing(sqlite3.connect(path)) as journal:
            rows = journal.execute("SELECT DISTINCT scope, role FROM calls").fetchall()
        called |= {role for scope, role in rows if scope.split("/")[0] == phase}
    return called


def files_below(folder: Path) -> list[str]:
    """Every file and folder below, relative and sorted."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def still_open(folder: Path, wait_s: float = 5.0) -> list[str]:
    """Files below `folder` that this process holds open, once those that are being closed are closed."""
    deadline = time.monotonic() + wait_s
    while True:
        held = [file.path for file in psutil.Process().open_files() if Path(file.path).is_relative_to(folder)]
        if not held or time.monotonic() > deadline:
            return held
        time.sleep(0.02)


@dataclass(frozen=True)
class Indexed:
    """One system's index over the demo, and what the process that built it answered from it."""

    folder: Path
    stats: IndexStats
    answers: list[Prediction]


class Task(BaseModel):
    """What a guarded process is to do."""

    system: str
    folder: Path
    phase: Literal["index", "answer"]
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]


class Findings(BaseModel):
    """What a guarded process saw."""

    stats: IndexStats | None = None
    passes: dict[str, list[Prediction]] = {}
    """Predictions by pass: first, again, together, retrieved (no generator)."""
    connections: list[str] = []
    """Attempts to reach a network address."""
    writes: list[str] = []
    """Files opened for writing, and folders made, outside the index folder and the temporary folder."""
    left_behind: list[str] = []
    """What lies in the home, working and temporary folders at the end."""
    held: list[str] = []
    """Files of the index that are open after close()."""


def run_guarded(task: Task, work: Path) -> Findings:
    """Do `task` in a fresh process whose home, working and temporary folders lie, empty, under `work`."""
    process = start_guarded(task, work)
    return finish_guarded(process, work)


def start_guarded(task: Task, work: Path) -> subprocess.Popen[str]:
    """Start it; several may run side by side."""
    for folder in (task.folder / "store", task.folder / "harness", work / "home", work / "cwd", work / "tmp"):
        folder.mkdir(parents=True, exist_ok=True)
    (work / "task.json").write_text(task.model_dump_json())
    with (work / "log.txt").open("w") as log:
        return subprocess.Popen(
            [sys.executable, __file__, str(work)],
            cwd=work / "cwd",
            env=_guarded_env(work),
            text=True,
            stdout=log,
            stderr=log,
        )


def finish_guarded(process: subprocess.Popen[str], work: Path) -> Findings:
    """Wait for it and read what it saw."""
    assert process.wait(timeout=300) == 0, (work / "log.txt").read_text()[-4000:]
    findings = Findings.model_validate_json((work / "findings.json").read_text())
    left = [f"{name}/{path}" for name in ("home", "cwd", "tmp") for path in files_below(work / name)]
    return findings.model_copy(update={"left_behind": left})


def _guarded_env(work: Path) -> dict[str, str]:
    home = work / "home"
    places = {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CACHE", "CONFIG", "DATA", "STATE")}
    temporary = {name: str(work / "tmp") for name in ("TMPDIR", "TEMP", "TMP")}
    kept = {
        key: value for key, value in os.environ.items() if key in {"PATH", "PYTHONPATH", "LANG", "VIRTUAL_ENV"}
    }
    return {**kept, **places, **temporary, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}


class _Guard:
    """Hears of every connection and every file opened for writing that Python makes; refuses the connections."""

    def __init__(self, allowed: Sequence[Path]) -> None:
        self._allowed = [str(path) for path in allowed]
        self.connections: list[str] = []
        self.writes: list[str] = []

    def hear(self, event: str, args: tuple[Any, ...]) -> None:
        if event in {"socket.connect", "socket.sendto", "socket.getaddrinfo"}:
            address = str(args[1] if event != "socket.getaddrinfo" else args[0])
            self.connections.append(address)
            raise PermissionError(f"a system may not reach the network: {address}")
        if event in {"os.mkdir", "sqlite3.connect"} or (event == "open" and _is_writing(args[1], args[2])):
            self._note(args[0])

    def _note(self, path: object) -> None:
        if not isinstance(path, str | bytes | os.PathLike):
            return  # a descriptor: its opening was heard of
        if str(path).endswith("?immutable=1"):
            return  # an SQLite file that is neither written nor locked
        full = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - resolve() would itself look at files
        if not any(full == place or full.startswith(place + os.sep) for place in (*self._allowed, "/dev")):
            self.writes.append(full)


def _is_writing(mode: object, flags: object) -> bool:
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


async def _do(task: Task) -> Findings:
    stats = None
    passes: dict[str, list[Prediction]] = {}
    if task.phase == "index":
        stats = await build_index(task.system, task.folder, task.documents)
    with opened(task.system, task.folder) as system:
        await load(system)
        passes["first"] = await answer_each(system, task.queries, "first")
        if task.phase == "answer":
            passes["again"] = await answer_each(system, task.queries, "again")
            passes["together"] = await answer_together(system, task.queries, "together")
    held = still_open(task.folder / "store")
    if task.phase == "answer":
        with opened(task.system, task.folder, NONE) as system:
            await load(system)
            passes["retrieved"] = await answer_each(system, task.queries, "retrieved")
    return Findings(stats=stats, passes=passes, held=held)


def main() -> None:
    """Do the task in the folder that the command line names, and write down what was seen."""
    work = Path(sys.argv[1])
    task = Task.model_validate_json((work / "task.json").read_text())
    guard = _Guard([task.folder / "store", task.folder / "harness", work / "tmp"])
    sys.addaudithook(guard.hear)
    findings = asyncio.run(_do(task))
    seen = {"connections": list(guard.connections), "writes": list(guard.writes)}
    report = json.dumps({**findings.model_dump(mode="json"), **seen})
    (work / "findings.json").write_text(report)


if __name__ == "__main__":
    main()
