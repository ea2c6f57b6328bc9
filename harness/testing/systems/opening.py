"""Opens a system like `harness.runner.executing.worker`, with the fake provider behind the real call context.

Each opening has its own journal, so no answer is replayed.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from harness.config import EmbedderConfig, GeneratorConfig
from harness.core.hashing import short_digest
from harness.core.records import AnswerStyle, Document, Evidence, IndexStats, Phase, Prediction, Query
from harness.models.clients import build_chat
from harness.models.embedders import build_embedder
from harness.models.embedding_cache import EmbeddingCache
from harness.models.metering import Meter, metered
from harness.models.providers import resolve_embedder, resolve_generator
from harness.models.transport import CallContext
from harness.protocols import Params, Roles, System, SystemSpec
from harness.registry import DATASETS, SYSTEMS
from harness.runner.executing.system_runtime import WorkerRuntime
from harness.runner.routed_systems import with_roles
from harness.store import Journal

FAKE = GeneratorConfig(provider="fake", max_retries=0)
NONE = GeneratorConfig(provider="none")
SEED = 11
_numbers = count()


class ChosenSystem(BaseModel):
    model_config = ConfigDict(frozen=True)

    name: str
    index: dict[str, Any] = {}
    answer: dict[str, Any] = {}

    @property
    def spec(self) -> SystemSpec:
        return SYSTEMS.load(self.name)

    @property
    def params(self) -> tuple[Params, Params]:
        return self.spec.index_params.model_validate(self.index), self.spec.answer_params.model_validate(
            self.answer
        )

    @property
    def roles(self) -> Roles:
        """The models that its phases call; for answers, including those of its routed systems."""
        own = self.spec.roles(*self.params)
        return Roles(own.index, with_roles(own, (one.roles for one in self.routed.values())).answer)

    @property
    def generates(self) -> bool:
        return "generator" in self.roles.answer or self.spec.own_models

    @property
    def routed(self) -> dict[str, ChosenSystem]:
        """The systems to which it routes queries, by the key of the route."""
        return {
            route.key: ChosenSystem(name=route.system, index=dict(route.index), answer=dict(route.answer))
            for route in self.spec.own_routes(self.params[1])
        }


@dataclass(frozen=True)
class Opening:
    generator: GeneratorConfig = FAKE
    phase: Phase = "answer"
    style: AnswerStyle = "short"
    journal: type[Journal] = Journal


@contextmanager
def opened(chosen: ChosenSystem, folder: Path, how: Opening | None = None) -> Iterator[System]:
    """The system over `folder/store`, neither indexed nor loaded; it gets the models of its spec for the
    phase.
    """
    how = how or Opening()
    named = chosen.roles.index if how.phase == "index" else chosen.roles.answer
    (folder / "store").mkdir(parents=True, exist_ok=True)
    journal = how.journal(folder / "harness" / f"calls-{os.getpid()}-{next(_numbers)}.sqlite")
    cached = EmbeddingCache(folder / "harness" / "embeddings.sqlite", "fake")
    call_context = CallContext(journal)
    names_generator = "generator" in named
    chat = build_chat(resolve_generator(how.generator), call_context) if names_generator else None
    embedder = resolve_embedder(EmbedderConfig(provider="fake"))
    runtime = WorkerRuntime(
        index_dir=folder / "store",
        seed=SEED,
        generator=chat,
        vectors=build_embedder(embedder, call_context, cached) if "embedder" in named else None,
        names_generator=names_generator,
        answer_style=how.style,
        gold=_demo_gold() if chosen.spec.sees_gold else {},
        reranks_with=chosen.spec.reranker(chosen.params[1]) if how.phase == "answer" else None,
        entails_by=chosen.spec.entailment(chosen.params[1]) if how.phase == "answer" else None,
    )
    with ExitStack() as held:
        held.enter_context(closing(journal))
        held.enter_context(closing(cached))
        if how.phase == "answer":
            runtime.routed_systems = {
                key: held.enter_context(_open_routed(one, key, folder, runtime))
                for key, one in chosen.routed.items()
            }
        yield held.enter_context(closing(chosen.spec.build(*chosen.params, runtime)))


def _open_routed(
    chosen: ChosenSystem, key: str, folder: Path, runtime: WorkerRuntime
) -> AbstractContextManager[System]:
    """A system to which another one routes queries: its own index, inside the other's, and the other's models."""
    own = replace(
        runtime,
        index_dir=_routed_folder(folder, key) / "store",
        reranks_with=chosen.spec.reranker(chosen.params[1]),
        entails_by=chosen.spec.entailment(chosen.params[1]),
    )
    return closing(chosen.spec.build(*chosen.params, own))


def _routed_folder(folder: Path, key: str) -> Path:
    return folder / "store" / "lent" / short_digest(key)


@cache
def _demo_gold() -> dict[str, Sequence[Evidence]]:
    rows = DATASETS.load("demo").load("default").rows
    return {row.query.query_id: row.reference.evidence for row in rows}


async def build_index(
    chosen: ChosenSystem, folder: Path, documents: Sequence[Document], journal: type[Journal] = Journal
) -> IndexStats:
    for key, routed in chosen.routed.items():
        await build_index(routed, _routed_folder(folder, key), documents)
    how = Opening(phase="index", journal=journal)
    with opened(chosen, folder, how) as system, metered(Meter("index")):
        return await system.index(documents)


async def load(system: System) -> None:
    with metered(Meter("load")):
        await system.load()


async def answer(system: System, query: Query, scope: str) -> Prediction:
    """One answer under its own meter; `scope` separates the calls of different passes."""
    with metered(Meter(f"{scope}/{query.query_id}")):
        return await system.answer(query)


async def answer_each(system: System, queries: Sequence[Query], scope: str) -> list[Prediction]:
    return [await answer(system, query, scope) for query in queries]


async def answer_together(system: System, queries: Sequence[Query], scope: str) -> list[Prediction]:
    return list(await asyncio.gather(*(answer(system, query, scope) for query in queries)))


async def answers_from(
    chosen: ChosenSystem, folder: Path, queries: Sequence[Query], scope: str, how: Opening | None = None
) -> list[Prediction]:
    """Open the index in `folder`, answer one after the other, and close."""
    with opened(chosen, folder, how) as system:
        await load(system)
        return await answer_each(system, queries, scope)


class RequestMade(NamedTuple):
    scope: str
    role: str
    digest: str


def requests_made(folder: Path, *phases: str) -> list[RequestMade]:
    """The calls in the scopes `phases` and below."""
    made: list[RequestMade] = []
    for path in sorted((folder / "harness").glob("calls-*.sqlite")):
        with closing(sqlite3.connect(path)) as journal:
            rows = journal.execute("SELECT scope, role, request_digest FROM calls").fetchall()
        made += [RequestMade(*row) for row in rows]
    return [one for one in made if one.scope.split("/")[0] in phases]
