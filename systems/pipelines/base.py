"""Shared by all external pipelines: what is kept of their index, and how their replies are used."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Protocol

from harness.core.records import Document, IndexStats, Prediction, Query, Step
from harness.protocols import Runtime
from systems.pipelines.replies import PipelineReply, WrongShape

OWN_WORDS = (
    "It is asked the question alone and prompts in words of its own, not under the contract of other systems."
)
OWN_INDEX = "it answers from an index of its own, over documents that nobody checked; what that took is not known"
UNLENT = "Calls of models that it was not lent are in no figure."


class Pipeline(Protocol):
    """The interface of adapters."""

    async def build(self, corpus: Sequence[Document]) -> IndexStats:
        """Let it build its index, if it takes documents."""
        ...

    async def open(self) -> None:
        """Have it ready, in a fresh process."""
        ...

    async def ask(self, query: Query) -> PipelineReply:
        """Its reply; raises WrongShape if it does not fit the contract."""
        ...


class PipelineSystem:
    """See `harness.protocols.System`."""

    def __init__(self, pipeline: Pipeline, runtime: Runtime) -> None:
        self._pipeline, self._runtime = pipeline, runtime
        self._ids_path = runtime.index_dir / "doc_ids.json"
        self._known: frozenset[str] = frozenset()

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        """Keep the ids of the documents; the rest is the pipeline's."""
        self._ids_path.write_text(json.dumps([document.doc_id for document in corpus]), encoding="utf-8")
        self._runtime.own_usage(None)
        return await self._pipeline.build(corpus)

    async def load(self) -> None:
        """Have the pipeline ready."""
        self._known = frozenset(json.loads(self._ids_path.read_text(encoding="utf-8")))
        await self._pipeline.open()

    async def answer(self, query: Query) -> Prediction:
        """Ask, and keep the reply."""
        self._runtime.own_usage(None)
        reply = await self._pipeline.ask(query)
        self._runtime.own_usage(reply.usage)
        if reply.answer is None and not self._runtime.retrieves_only:
            raise WrongShape("'answer' is null, and the run has a generator (models.generator.provider)")
        return Prediction(
            answer=None if self._runtime.retrieves_only else reply.answer,
            contexts=reply.contexts,
            has_contexts=reply.has_contexts,
            trace=self._foreign(reply),
        )

    def close(self) -> None:
        """The process ends with its threads and connections."""

    def _foreign(self, reply: PipelineReply) -> tuple[Step, ...]:
        """A note on context ids that are not in the corpus, since each counts as a wrong one."""
        named = dict.fromkeys(doc_id for context in reply.contexts for doc_id in context.doc_ids)
        foreign = [doc_id for doc_id in named if doc_id not in self._known]
        if reply.contexts and not named:
            self._runtime.warn("its contexts name no document: measures by document do not apply")
        if not foreign:
            return ()
        self._runtime.warn(
            f"its contexts name documents that the corpus does not hold, such as '{foreign[0][:60]}': "
            "each counts as a wrong one"
        )
        return (Step(name="not in the corpus", content=", ".join(foreign)[:2000]),)


def lent_url(runtime: Runtime, lends: Sequence[str]) -> str | None:
    """The URL of the lent models for the current question, if any are lent."""
    return runtime.lent_url() if lends else None
