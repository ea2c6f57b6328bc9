"""Queries the graph for a question with statements of a model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from harness.core.records import Context, Step
from harness.protocols import ChatModel, Message, Runtime
from systems.common.graph_stores.contract import AskFailed, ReadStatement
from systems.cypher_agent.agent_graph import AgentGraph
from systems.cypher_agent.graph_schema import DOCUMENTS, FUNCTIONS, STRING, GraphSchema, SourceKind
from systems.cypher_agent.params import AnswerParams
from systems.cypher_agent.statement_check import Refused, read_statement

STATEMENT_TOKENS = 300
_FENCED = re.compile(r"```(?:cypher)?\s*(.*?)(?:```|$)", re.DOTALL | re.IGNORECASE)
_BEGIN = re.compile(r"\b(?:OPTIONAL\s+)?MATCH\b", re.IGNORECASE)
_MOST_PUBLISHERS = 30


def _rules(schema: GraphSchema) -> str:
    lines = (
        f"Write one Cypher statement for this graph of {schema.about}:",
        schema.shown,
        "Use MATCH, WHERE, WITH, RETURN, ORDER BY and LIMIT only, and the functions "
        f"{', '.join(sorted(FUNCTIONS))}.",
        f"Return properties, never whole nodes, and always {schema.returns}.",
        schema.advice,
        "Reply with the statement and nothing else.",
    )
    return "\n".join(filter(None, lines))


def cypher_messages(
    question: str, publishers: Sequence[str] = (), schema: GraphSchema = DOCUMENTS
) -> list[Message]:
    """The prompt for a statement; `publishers` are those of the graph's documents."""
    listed = ", ".join(f"'{name}'" for name in publishers[:_MOST_PUBLISHERS])
    rules = f"{_rules(schema)}\nValues of source: {listed}" if listed else _rules(schema)
    shown = [
        turn
        for asked, statement in schema.examples
        for turn in (Message("user", f"Question: {asked}"), Message("assistant", statement))
    ]
    return [Message("system", rules), *shown, Message("user", f"Question: {question}")]


def repair_messages(asked: Sequence[Message], statement: str, trouble: str) -> list[Message]:
    return [
        *asked,
        Message("assistant", statement or "(nothing)"),
        Message("user", f"That did not work: {trouble}\nWrite another statement for the same question."),
    ]


def statement_in(reply: str) -> str:
    """The statement in a reply, without code fences and surrounding sentences."""
    fenced = _FENCED.search(reply)
    text = fenced[1] if fenced else reply
    begin = _BEGIN.search(text)
    return (text[begin.start() :] if begin else text).strip()


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
    statement: str
    trouble: str
    """Why it returned nothing; empty if it returned rows."""
    rows: tuple[Context, ...] = ()

    @property
    def as_step(self) -> Step:
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
            statement = statement_in(await chat.complete(prompt, max_tokens=STATEMENT_TOKENS))
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
    named = [(_ids(statement, row, "doc_id"), _ids(statement, row, "chunk_id")) for row in found]
    doc_ids = dict.fromkeys(one for ids, _ in named for one in ids)
    chunk_ids = dict.fromkeys(one for _, ids in named for one in ids)
    sources = await graph.sources(list(doc_ids), list(chunk_ids))
    contexts: dict[str, Context] = {}
    for row, (own_ids, own_chunks) in zip(found, named, strict=True):
        # A statement may invent ids.
        own = [doc_id for doc_id in own_ids if doc_id in sources.published]
        of_chunks = [sources.owners[chunk_id] for chunk_id in own_chunks if chunk_id in sources.owners]
        pairs = zip(statement.columns, row, strict=True)
        parts = [f"{column.name}: {_shown(value)}" for column, value in pairs if value not in (None, "", [])]
        text = "; ".join(parts)[: params.row_characters]
        if text and (stated_by := tuple(dict.fromkeys([*own, *of_chunks]))):
            contexts.setdefault(text, Context(text=text, doc_ids=stated_by, kind="summary"))
    return list(contexts.values())


def _ids(statement: ReadStatement, row: Sequence[Any], kind: SourceKind) -> list[str]:
    """The ids of this kind that a row names."""
    columns = zip(statement.columns, row, strict=True)
    return [one for column, value in columns if column.source == kind for one in _listed(value)][:_MOST_SOURCES]


def _listed(value: Any) -> list[str]:
    """Texts in a value: itself, or those of a (nested) list."""
    if isinstance(value, list | tuple):
        return [text for each in value for text in _listed(each)]
    return [value] if isinstance(value, str) else []


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_shown(each) for each in value)
    return " ".join(str(value).split())
