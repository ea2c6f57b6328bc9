"""Prompts of the Cypher agent: write a query, and repair one that failed."""

import re
from collections.abc import Sequence

from harness.protocols import Message
from systems.common.cypher.graph_schema import FUNCTIONS, SHOWN

MAX_TOKENS = 300
_FENCED = re.compile(r"```(?:cypher)?\s*(.*?)(?:```|$)", re.DOTALL | re.IGNORECASE)
_BEGIN = re.compile(r"\b(?:OPTIONAL\s+)?MATCH\b", re.IGNORECASE)
_RULES = f"""Write one Cypher statement for this graph of a collection of documents:
{SHOWN}
Use MATCH, WHERE, WITH, RETURN, ORDER BY and LIMIT only, and the functions {", ".join(sorted(FUNCTIONS))}.
Return properties, never whole nodes, and always doc_id or chunk_id (or chunk_ids) and, of documents, published_at.
Compare names as toLower(e.name) CONTAINS 'part of the name', in small letters, and write ' within a text as \\'.
Who published a document is its source and no entity. Take names and dates from the question alone.
Reply with the statement and nothing else."""
_MOST_PUBLISHERS = 30
_EXAMPLES = (
    (
        "Who runs the harbour of Lorn?",
        "MATCH (a:Entity)-[r:RELATES]->(b:Entity) WHERE toLower(b.name) CONTAINS 'harbour of lorn' OR "
        "toLower(a.name) CONTAINS 'harbour of lorn' RETURN a.name, r.relation, b.name, r.chunk_ids LIMIT 20",
    ),
    (
        "Which articles of The Gull mention both Mira Holt and the ferry strike?",
        "MATCH (c:Chunk)-[:MENTIONS]->(a:Entity), (c)-[:MENTIONS]->(b:Entity), (c)-[:PART_OF]->(d:Document) "
        "WHERE toLower(a.name) CONTAINS 'mira holt' AND toLower(b.name) CONTAINS 'ferry strike' AND "
        "d.source = 'The Gull' RETURN DISTINCT d.doc_id, d.title, d.published_at, c.text LIMIT 10",
    ),
    (
        "What was written last about Ostmark Bank?",
        "MATCH (c:Chunk)-[:MENTIONS]->(e:Entity), (c)-[:PART_OF]->(d:Document) "
        "WHERE toLower(e.name) CONTAINS 'ostmark' RETURN d.doc_id, d.source, d.published_at, c.text "
        "ORDER BY d.published_at DESC LIMIT 5",
    ),
)


def cypher_messages(question: str, publishers: Sequence[str] = ()) -> list[Message]:
    """The prompt for a statement; `publishers` are those of the graph's documents."""
    listed = ", ".join(f"'{name}'" for name in publishers[:_MOST_PUBLISHERS])
    rules = f"{_RULES}\nValues of source: {listed}" if listed else _RULES
    shown = [
        turn
        for asked, statement in _EXAMPLES
        for turn in (Message("user", f"Question: {asked}"), Message("assistant", statement))
    ]
    return [Message("system", rules), *shown, Message("user", f"Question: {question}")]


def repair_messages(asked: Sequence[Message], statement: str, trouble: str) -> list[Message]:
    """The prompt for a better statement than the one that failed."""
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
