"""The names that a statement may use: the graph as both stores present it."""

LABELS = ("Document", "Chunk", "Entity")
RELATES = "RELATES"
RELATIONSHIPS = ("PART_OF", "MENTIONS", RELATES)
PROPERTIES = frozenset(
    {
        *("doc_id", "title", "source", "published_at", "url"),
        *("chunk_id", "text", "start", "end", "heading"),
        *("entity_id", "name", "kind"),
        *("relation", "chunk_ids"),
    }
)
SOURCES = frozenset({"doc_id", "chunk_id", "chunk_ids"})
"""Properties that identify the source of a node."""
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

SHOWN = """(:Chunk)-[:PART_OF]->(:Document), (:Chunk)-[:MENTIONS]->(:Entity), (:Entity)-[:RELATES]->(:Entity)
Document: doc_id, title, source (who published it), published_at (year, month and day, with hyphens), url
Chunk: chunk_id, doc_id, text, heading
Entity: entity_id, name, kind
RELATES: relation (such as 'ACQUIRED'), chunk_ids (the chunks that state it)"""
"""The schema as shown to a model."""
