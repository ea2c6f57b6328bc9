"""Shared by all external pipelines: what is kept of their index, and how their replies are used."""

from __future__ import annotations

import json
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from harness.core.errors import ConfigError
from harness.core.records import Context, Document, IndexStats, Prediction, Query, Step
from harness.protocols import NO_ROLE, Params, Runtime, SystemSpec
from systems.pipelines.replies import PipelineReply, WrongShape

OWN_WORDS = (
    "It is asked the question alone and prompts in words of its own, not under the contract of other systems."
)
OWN_INDEX = "it answers from an index of its own, over documents that nobody checked; what that took is not known"
UNLENT = "Calls of models that it was not lent are in no figure."


def pipeline_family(
    name: str,
    target: str,
    at: Callable[[str], SystemSpec],
    index: type[Params],
    answer: type[Params],
    summary: str,
) -> SystemSpec:
    """The spec of a name that needs a target, such as `target`, from which `at` makes a system."""

    def unnamed(*_: Any) -> Any:
        raise ConfigError(f"'{name}' needs a target", f"such as {name}:{target}")

    return SystemSpec(
        name=name,
        version="2",
        summary=summary,
        index_params=index,
        answer_params=answer,
        build=unnamed,
        index_roles=NO_ROLE,
        answer_roles=NO_ROLE,
        at=at,
        target=target,
    )


class PipelineSystem(ABC):
    """See `harness.protocols.System`; adapters say how a pipeline is built, opened and asked."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._names_path = runtime.index_dir / "names.json"
        self._names: list[tuple[str, str]] = []
        self._known: frozenset[str] = frozenset()
        self._has_told_names = False

    @abstractmethod
    async def build(self, corpus: Sequence[Document]) -> IndexStats:
        """Let it build its index, if it takes documents."""

    @abstractmethod
    async def open(self) -> None:
        """Have it ready, in a fresh process."""

    @abstractmethod
    async def ask(self, query: Query) -> PipelineReply:
        """Its reply; raises WrongShape if it does not fit the contract."""

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        names = [(document.doc_id, document.title) for document in corpus]
        self._names_path.write_text(json.dumps(names), encoding="utf-8")
        self._runtime.own_usage(None)
        return await self.build(corpus)

    async def load(self) -> None:
        self._names = json.loads(self._names_path.read_text(encoding="utf-8"))
        self._known = frozenset(doc_id for doc_id, _ in self._names)
        await self.open()

    async def answer(self, query: Query) -> Prediction:
        self._runtime.own_usage(None)
        reply = await self.ask(query)
        self._runtime.own_usage(reply.usage)
        if reply.answer is None and not self._runtime.retrieves_only:
            raise WrongShape("'answer' is null, and the run has a generator (models.generator.provider)")
        contexts = tuple(map(self._with_ids, reply.contexts))
        return Prediction(
            answer=None if self._runtime.retrieves_only else reply.answer,
            contexts=contexts,
            has_contexts=reply.has_contexts,
            trace=self._foreign(contexts),
        )

    def close(self) -> None:  # noqa: B027
        """The process ends with its threads and connections."""

    def _with_ids(self, context: Context) -> Context:
        """The context with the ids of the documents that it names by title or file name."""
        if self._known.issuperset(context.doc_ids):
            return context
        ids = tuple(dict.fromkeys(map(self._id_of, context.doc_ids)))
        return context.model_copy(update={"doc_ids": ids})

    @cached_property
    def _by_name(self) -> list[dict[str, set[str]]]:
        """Name -> ids of all documents with it: as id or title, as file name, as file name without ending."""
        tables: list[dict[str, set[str]]] = [{}, {}, {}]
        for doc_id, title in self._names:
            for place, name in enumerate(_spellings(doc_id)):
                tables[place].setdefault(name, set()).add(doc_id)
            for name in _spellings(title)[:1]:
                tables[0].setdefault(name, set()).add(doc_id)
        return tables

    def _id_of(self, name: str) -> str:
        if name in self._known:
            return name
        so_called = (table[one] for one in _spellings(name) for table in self._by_name if one in table)
        ids = next(so_called, set())
        found = next(iter(ids)) if len(ids) == 1 else None
        if found is not None and not self._has_told_names:
            self._has_told_names = True
            self._runtime.warn(
                f"its contexts name documents by title or file name: '{name[:60]}' is taken for '{found[:60]}'"
            )
        return name if found is None else found

    def _foreign(self, contexts: Sequence[Context]) -> tuple[Step, ...]:
        """A note on context ids that are not in the corpus, since each counts as a wrong one."""
        named = dict.fromkeys(doc_id for context in contexts for doc_id in context.doc_ids)
        foreign = [doc_id for doc_id in named if doc_id not in self._known]
        if contexts and not named:
            self._runtime.warn("its contexts name no document: measures by document do not apply")
        if not foreign:
            return ()
        self._runtime.warn(
            f"its contexts name documents that the corpus does not hold, such as '{foreign[0][:60]}': "
            "each counts as a wrong one"
        )
        return (Step(name="not in the corpus", content=", ".join(foreign)[:2000]),)


def _spellings(name: str) -> list[str]:
    """A name in lower case: whole, without its folders, and without its ending; as far as anything is left."""
    whole = " ".join(unicodedata.normalize("NFC", unquote(name)).casefold().split())
    alone = re.split(r"[/\\]", whole)[-1]
    return [one for one in (whole, alone, re.sub(r"\.[a-z]\w{0,4}$", "", alone)) if one]
