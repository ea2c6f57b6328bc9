"""Prompts of the Cypher agent: write a query, and repair one that failed."""

import re
from collections.abc import Sequence

from harness.protocols import Message
from systems.common.cypher.graph_schema import DOCUMENTS, FUNCTIONS, GraphSchema

MAX_TOKENS = 300
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
