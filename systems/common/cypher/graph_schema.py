"""What a statement may name: the graph as both stores show it, whatever they call things inside."""

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
"""Properties that say where something stands."""
FUNCTIONS = frozenset({"count", "collect", "min", "max", "avg", "sum", "tolower", "toupper", "size", "coalesce"})
MOST_CHARACTERS = 2_000
MOST_PIECES = 300
"""Words, names and signs: a database follows them by recursion too."""
MOST_NODES = 8
"""In all patterns of a statement together, each once. The cost of planning a pattern multiplies with each of its
parts, and no time limit interrupts it: one of 20 nodes stopped a Neo4j for good.
"""
MOST_RELATIONSHIPS = 8
MOST_UNLABELLED = 5
"""Nodes without a label and relationships without a type, together. Neo4j plans every combination of labels."""
DEEPEST = 8
"""Brackets within brackets: a parser follows them by recursion."""

SHOWN = """(:Chunk)-[:PART_OF]->(:Document), (:Chunk)-[:MENTIONS]->(:Entity), (:Entity)-[:RELATES]->(:Entity)
Document: doc_id, title, source (who published it), published_at (year, month and day, with hyphens), url
Chunk: chunk_id, doc_id, text, heading
Entity: entity_id, name, kind
RELATES: relation (such as 'ACQUIRED'), chunk_ids (the chunks that state it)"""
"""As a model is told."""
