"""Queries the graph for a question with statements of a model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from harness.core.records import Context, Step
from harness.protocols import ChatModel, Message, Runtime
from systems.common.cypher.grammar import STRING
from systems.common.cypher.statement import ReadStatement
from systems.common.cypher.statement_check import Refused, read_statement
from systems.common.graph_stores.contract import AskFailed, Sources
from systems.common.prompts.cypher import MAX_TOKENS, repair_messages, statement_in
from systems.cypher_agent.agent_graph import AgentGraph
from systems.cypher_agent.params import AnswerParams

_TEXT = STRING.pattern
_LOWERED = re.compile(
    rf"\btoLower\s*\([^()]*\)\s*(?:=|CONTAINS\b|STARTS\s+WITH\b|ENDS\s+WITH\b|IN\b)\s*"
    rf"(?P<said>\[(?:[^\]'\"]|{_TEXT})*\]|{_TEXT})",
    re.IGNORECASE | re.DOTALL,
)


def never_true(statement: str) -> str:
    """A hint for the author if lower-cased names are compared with a text in capitals, otherwise empty.

    Only for an allowed statement with an empty result; it decides nothing.
    """
    for compared in _LOWERED.finditer(statement):
        for text in STRING.findall(compared["said"]):
            if text != text.lower():
                return f"what toLower gives is never like {text}: write {text.lower()}, or leave out toLower"
    return ""


Way = Literal["cypher", "repair", "fallback", "not found"]
"""How the contexts of a question were found: by the first statement, a later one, passage search, or not at all.
"""
_LONGEST_SHOWN = 2_000
_MOST_SOURCES = 50
"""Maximum chunks or documents of a row; the first ones count."""


@dataclass(frozen=True)
class Attempt:
    """One statement and its outcome."""

    statement: str
    trouble: str
    """Why it returned nothing; empty if it returned rows."""
    rows: tuple[Context, ...] = ()

    @property
    def as_step(self) -> Step:
        """The step for the record."""
        said = self.trouble or f"{len(self.rows)} rows"
        return Step(name="cypher", content=f"{self.statement[:_LONGEST_SHOWN] or '(nothing)'}\n-> {said}")


async def ask_graph(
    params: AnswerParams, runtime: Runtime, chat: ChatModel, graph: AgentGraph, asked: Sequence[Message]
) -> list[Attempt]:
    """All attempts to answer the question; the last one has rows or was the last allowed."""
    attempts: list[Attempt] = []
    for number in range(1 + params.repairs):
        last = attempts[-1] if attempts else None
        prompt = repair_messages(asked, last.statement, last.trouble) if last else asked
        with runtime.stage("write_cypher" if number == 0 else "repair_cypher"):
            statement = statement_in(await chat.complete(prompt, max_tokens=MAX_TOKENS))
        with runtime.stage("graph"):
            attempts.append(await _run(params, graph, statement))
        if attempts[-1].rows:
            break
    return attempts


async def _run(params: AnswerParams, graph: AgentGraph, text: str) -> Attempt:
    try:
        statement = read_statement(text, params.rows, graph.schema)
        found = await graph.ask(statement, params.limit_s)
    except (Refused, AskFailed) as error:
        return Attempt(text, str(error))
    rows = await _as_contexts(params, graph, statement, found)
    if rows:
        return Attempt(text, "", tuple(rows))
    hint = never_true(text)
    return Attempt(text, f"it found nothing: {hint}" if hint else "it found nothing")


async def _as_contexts(
    params: AnswerParams, graph: AgentGraph, statement: ReadStatement, found: Sequence[Sequence[Any]]
) -> list[Context]:
    """Each distinct non-empty row as a text with its source; rows without a document are dropped, because they
    could not be verified.
    """
    named = [_NamedSources.by(statement, row) for row in found]
    doc_ids = {one: None for each in named for one in each.doc_ids}
    chunk_ids = {one: None for each in named for one in each.chunk_ids}
    sources = await graph.sources(list(doc_ids), list(chunk_ids))
    contexts: dict[str, Context] = {}
    for row, each in zip(found, named, strict=True):
        pairs = zip(statement.columns, row, strict=True)
        parts = [f"{column.name}: {_shown(value)}" for column, value in pairs if value not in (None, "", [])]
        text = "; ".join(parts)[: params.row_characters]
        if text and (of := each.stored(sources)):
            contexts.setdefault(text, Context(text=text, doc_ids=of, kind="summary"))
    return list(contexts.values())


@dataclass(frozen=True)
class _NamedSources:
    """The sources that a row names; a statement may invent ids."""

    doc_ids: tuple[str, ...]
    chunk_ids: tuple[str, ...]

    @classmethod
    def by(cls, statement: ReadStatement, row: Sequence[Any]) -> Self:
        pairs = [(column.source, _listed(value)) for column, value in zip(statement.columns, row, strict=True)]
        doc_ids = [one for source, ids in pairs if source == "doc_id" for one in ids]
        chunk_ids = [one for source, ids in pairs if source == "chunk_id" for one in ids]
        return cls(tuple(doc_ids[:_MOST_SOURCES]), tuple(chunk_ids[:_MOST_SOURCES]))

    def stored(self, sources: Sources) -> tuple[str, ...]:
        """The existing documents that it names, then those of its chunks, without duplicates."""
        own = [doc_id for doc_id in self.doc_ids if doc_id in sources.published]
        of_chunks = [sources.owners[chunk_id] for chunk_id in self.chunk_ids if chunk_id in sources.owners]
        return tuple(dict.fromkeys([*own, *of_chunks]))


def _listed(value: Any) -> list[str]:
    """Texts in a value: itself, or those of a (nested) list."""
    if isinstance(value, list | tuple):
        return [text for each in value for text in _listed(each)]
    return [value] if isinstance(value, str) else []


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_shown(each) for each in value)
    return " ".join(str(value).split())
