"""What a statement may use: the names in a graph, which a model is told, and a part of openCypher's grammar."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from systems.common.graph_stores.contract import RELATES

SourceKind = Literal["doc_id", "chunk_id"]


@dataclass(frozen=True)
class GraphSchema:
    """A graph as both stores present it, or one of the user's own."""

    about: str
    """What the graph is of, for a prompt."""
    labels: tuple[str, ...]
    relationships: tuple[str, ...]
    properties: frozenset[str]
    sources: Mapping[str, SourceKind]
    """Properties that identify the source of a row, with the kind of their ids."""
    shown: str
    """The schema as shown to a model."""
    returns: str
    """What every statement has to return, for a prompt and a refusal."""
    advice: str = ""
    """Further rules of the prompt, a line each."""
    examples: tuple[tuple[str, str], ...] = ()
    """Questions with their statements, for the prompt."""
    unknown_relationship: str = ""
    """What a refusal of an unknown relationship adds."""


DOCUMENTS = GraphSchema(
    about="a collection of documents",
    labels=("Document", "Chunk", "Entity"),
    relationships=("PART_OF", "MENTIONS", RELATES),
    properties=frozenset(
        {
            *("doc_id", "title", "source", "published_at", "url"),
            *("chunk_id", "text", "start", "end", "heading"),
            *("entity_id", "name", "kind"),
            *("relation", "chunk_ids"),
        }
    ),
    sources={"doc_id": "doc_id", "chunk_id": "chunk_id", "chunk_ids": "chunk_id"},
    shown="""(:Chunk)-[:PART_OF]->(:Document), (:Chunk)-[:MENTIONS]->(:Entity), (:Entity)-[:RELATES]->(:Entity)
Document: doc_id, title, source (who published it), published_at (year, month and day, with hyphens), url
Chunk: chunk_id, doc_id, text, heading
Entity: entity_id, name, kind
RELATES: relation (such as 'ACQUIRED'), chunk_ids (the chunks that state it)""",
    returns="doc_id or chunk_id (or chunk_ids) and, of documents, published_at",
    advice="""Compare names as toLower(e.name) CONTAINS 'part of the name', in small letters, and write ' \
within a text as \\'.
Who published a document is its source and no entity. Take names and dates from the question alone.""",
    examples=(
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
    ),
    unknown_relationship="; what relates two entities stands in r.relation of [r:RELATES]",
)
"""Documents, their chunks, and the entities that these mention."""
FUNCTIONS = frozenset({"count", "collect", "min", "max", "avg", "sum", "tolower", "toupper", "size", "coalesce"})
MOST_CHARACTERS = 2_000
MOST_PIECES = 300
"""Words, names and signs. A database parses them recursively."""
MOST_NODES = 8
"""Distinct nodes in all patterns of a statement. The planning cost multiplies with each part, and no time limit
interrupts planning: a pattern of 20 nodes stopped a Neo4j server permanently.
"""
MOST_RELATIONSHIPS = 8
MOST_UNLABELLED = 5
"""Nodes without a label and relationships without a type, together. Neo4j plans every combination of labels."""
DEEPEST = 8
"""Nested brackets, which a parser handles recursively."""


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\S+", text))


WALKED = _words("""
script query regularQuery singleQuery singlePartQ multiPartQ readingStatement matchSt withSt projectionBody where
orderSt orderItem patternWhere pattern patternElem patternElemChain properties mapLit
expression xorExpression andExpression notExpression comparisonExpression comparisonSigns
addSubExpression multDivExpression powerExpression unaryAddSubExpression atomicExpression
listExpression stringExpression stringExpPrefix nullExpression parenthesizedExpression
propertyOrLabelExpression atom expressionChain literal boolLit numLit listLit caseExpression
""")
"""Rules whose parts are all checked further down. All others have a method of the reader or are rejected."""
SAID = {
    "unionSt": "UNION",
    "unwindSt": "UNWIND",
    "queryCallSt": "CALL",
    "standaloneCall": "CALL",
    "updatingStatement": "a clause that writes",
    "parameter": "a parameter",
    "patternComprehension": "a pattern in an expression",
    "relationshipsChainPattern": "a pattern in an expression",
    "subqueryExist": "EXISTS { ... }",
    "rangeLit": "a path of any length (write each hop)",
}
"""Names of rules in error messages."""
STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
NUMBER = re.compile(r"\d{1,15}(\.\d{1,15})?")
SIGNS = _words("( ) [ ] { } , . : < > + - * / % = <> <= >=")
WORDS = _words("""
MATCH OPTIONAL WHERE RETURN WITH DISTINCT AS ORDER BY ASC ASCENDING DESC DESCENDING AND OR NOT
IN STARTS ENDS CONTAINS IS NULL TRUE FALSE CASE WHEN THEN ELSE END
""")
"""Without XOR: Neo4j's planning cost doubles with each XOR of a chain."""
