"""Runs a system in a watched process: `python -m harness.testing.systems.process <folder>`."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from harness.core.records import Document, IndexStats, Prediction, Query
from harness.models.metering import Meter, metered
from harness.store import Journal
from harness.store.call_journal import CallKey, StoredCall
from harness.testing.guarding import (
    LONGEST_S,
    Watched,
    die,
    dying,
    finish,
    start,
    still_open,
    wait_until,
    watched_main,
)
from harness.testing.systems.opening import (
    NONE,
    ChosenSystem,
    Opening,
    answer_each,
    answer_together,
    answers_from,
    build_index,
    load,
    opened,
)

Pass = Literal["first", "again", "together", "retrieved"]
"""`retrieved`: without a generator, if the system supports that."""


class SystemTask(BaseModel):
    system: ChosenSystem
    folder: Path
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]
    builds: bool = False
    """Whether it indexes before it answers."""
    passes: tuple[Pass, ...] = ("first",)
    dies: Literal["", "building", "answering"] = ""
    """building: a fork of it dies, then it builds. answering: it is killed after all answers, before closing."""
    waits_for: Path | None = None
    """It keeps the index open until this file exists."""
    dies_at_call: int = 0
    """Number of the call of a build before which it dies; 0: after the build, before closing."""


class SystemFindings(Watched):
    stats: IndexStats | None = None
    passes: dict[Pass, list[Prediction]] = Field({})
    held: list[str] = Field([])
    """Files of the index that are open after close()."""


def start_system(task: SystemTask, work: Path) -> subprocess.Popen[str]:
    for folder in (task.folder / "store", task.folder / "harness"):
        folder.mkdir(parents=True, exist_ok=True)
    return start(__name__, task, work)


def run_system(task: SystemTask, work: Path) -> SystemFindings:
    return finish(start_system(task, work), work, SystemFindings)


def _do(task: SystemTask, tell: Callable[[SystemFindings], None]) -> None:
    if task.dies == "building":
        dying(lambda: asyncio.run(_die_building(task)))
        shutil.rmtree(task.folder / "store")
    asyncio.run(_work(task, tell))


async def _work(task: SystemTask, tell: Callable[[SystemFindings], None]) -> None:
    stats = await build_index(task.system, task.folder, task.documents) if task.builds else None
    passes: dict[Pass, list[Prediction]] = {}
    with opened(task.system, task.folder) as system:
        await load(system)
        for name in task.passes:
            if name == "together":
                passes[name] = await answer_together(system, task.queries, name)
            elif name != "retrieved":
                passes[name] = await answer_each(system, task.queries, name)
        if task.dies == "answering":
            tell(SystemFindings(passes=passes))
            await asyncio.sleep(LONGEST_S)
        if task.waits_for:
            await asyncio.to_thread(wait_until, task.waits_for.exists)
    held = still_open(task.folder / "store")
    if "retrieved" in task.passes:
        how = Opening(generator=NONE)
        passes["retrieved"] = await answers_from(task.system, task.folder, task.queries, "retrieved", how)
    tell(SystemFindings(stats=stats, passes=passes, held=held))


async def _die_building(task: SystemTask) -> None:
    calls = count(1)

    class DeadlyJournal(Journal):
        def find(self, key: CallKey) -> StoredCall | None:
            if next(calls) == task.dies_at_call:
                die()
            return super().find(key)

    with opened(task.system, task.folder, Opening(phase="index", journal=DeadlyJournal)) as system:
        with metered(Meter("index")):
            await system.index(task.documents)
        die()


if __name__ == "__main__":
    watched_main(SystemTask, _do, lambda task: [task.folder / "store", task.folder / "harness"])
