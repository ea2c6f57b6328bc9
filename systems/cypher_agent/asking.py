"""From a question to rows of the graph, through statements that a model writes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from harness.protocols import ChatModel, Message, Runtime
from harness.records import Context, Step
from systems.cypher_agent.params import AnswerParams
from systems.parts.cypher.reading import Refused, read_statement
from systems.parts.cypher.statement import ReadStatement
from systems.parts.graph_stores.contract import AskFailed, GraphStore
from systems.parts.prompts.cypher import MAX_TOKENS, repair_messages, statement_in

Way = Literal["cypher", "repair", "fallback", "not found"]
"""How a question came to its contexts: the first statement, a later one, a search of passages, or not at all."""
_LONGEST_SHOWN = 2_000
_MOST_SOURCES = 50
"""Chunks or documents that a row names; of more, the first."""


@dataclass(frozen=True)
class Attempt:
    """One statement and what became of it."""

    statement: str
    trouble: str
    """Why it gave nothing; empty where it gave rows."""
    rows: tuple[Context, ...] = ()

    @property
    def told(self) -> Step:
        """For the record."""
        said = self.trouble or f"{len(self.rows)} rows"
        return Step(name="cypher", content=f"{self.statement[:_LONGEST_SHOWN] or '(nothing)'}\n-> {said}")


async def ask_graph(
    params: AnswerParams, runtime: Runtime, chat: ChatModel, store: GraphStore, asked: Sequence[Message]
) -> list[Attempt]:
    """Every attempt at what is `asked`; the last of them has rows, or was the last one allowed."""
    attempts: list[Attempt] = []
    for number in range(1 + params.repairs):
        last = attempts[-1] if attempts else None
        prompt = repair_messages(asked, last.statement, last.trouble) if last else asked
        with runtime.stage("write_cypher" if number == 0 else "repair_cypher"):
            statement = statement_in(await chat.complete(prompt, max_tokens=MAX_TOKENS))
        with runtime.stage("graph"):
            attempts.append(await _run(params, store, statement))
        if attempts[-1].rows:
            break
    return attempts


async def _run(params: AnswerParams, store: GraphStore, text: str) -> Attempt:
    try:
        statement = read_statement(text, params.rows)
        found = await store.ask(statement, params.limit_s)
    except (Refused, AskFailed) as error:
        return Attempt(text, str(error))
    rows = await _as_contexts(params, store, statement, found)
    return Attempt(text, "" if rows else "it found nothing", tuple(rows))


async def _as_contexts(
    params: AnswerParams, store: GraphStore, statement: ReadStatement, found: Sequence[Sequence[Any]]
) -> list[Context]:
    """Each row with anything in it, once, as a text that names what it is of; rows that name no document are left
    out, for nobody could look them up.
    """
    contexts: dict[str, Context] = {}
    for row in found:
        pairs = list(zip(statement.columns, row, strict=True))
        parts = [f"{column.name}: {_shown(value)}" for column, value in pairs if value not in (None, "", [])]
        doc_ids = await _documents(store, [(column.source, _listed(value)) for column, value in pairs])
        text = "; ".join(parts)[: params.row_characters]
        if doc_ids and text:
            contexts.setdefault(text, Context(text=text, doc_ids=doc_ids, kind="summary"))
    return list(contexts.values())


async def _documents(store: GraphStore, named: Sequence[tuple[str, list[str]]]) -> tuple[str, ...]:
    """Those that a row names, by themselves or by their chunks; a statement may make up what it calls an id."""
    doc_ids = [one for source, ids in named if source == "doc_id" for one in ids]
    chunk_ids = [one for source, ids in named if source.startswith("chunk_id") for one in ids]
    return tuple(await store.documents(doc_ids[:_MOST_SOURCES], chunk_ids[:_MOST_SOURCES]))


def _listed(value: Any) -> list[str]:
    """Texts in a value: itself, or those of a list, however deep a database nested it."""
    if isinstance(value, list | tuple):
        return [text for each in value for text in _listed(each)]
    return [value] if isinstance(value, str) else []


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_shown(each) for each in value)
    return " ".join(str(value).split())
