"""Full-text search of entity names in an SQLite table."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from systems.common.graph_stores.contract import EntityHit
from systems.common.graph_stores.name_words import query_words, words
from systems.common.graph_types import Entity

# `ascii` leaves other characters unchanged: the words are already normalised.
_TABLE = """
CREATE VIRTUAL TABLE entities USING fts5(
    words, entity_id UNINDEXED, name UNINDEXED, kind UNINDEXED, degree UNINDEXED, tokenize = 'ascii'
)
"""
_FIND = """
SELECT entity_id, name, kind, -bm25(entities), degree FROM entities
WHERE entities MATCH ? ORDER BY bm25(entities), rowid LIMIT ?
"""

_NAMED = """
SELECT entity_id, name, kind, degree FROM entities WHERE entity_id IN (SELECT value FROM json_each(?))
"""


def store_names(path: Path, entities: Iterable[tuple[Entity, int]]) -> None:
    """A new file with each entity and its degree; entities must be sorted by entity_id, which breaks ties."""
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(_TABLE)
        file.executemany(
            "INSERT INTO entities (words, entity_id, name, kind, degree) VALUES (?, ?, ?, ?, ?)",
            (
                (" ".join(words(entity.name)), entity.entity_id, entity.name, entity.kind, degree)
                for entity, degree in entities
            ),
        )
        file.execute("INSERT INTO entities (entities) VALUES ('optimize')")


def entities_by_id(connection: sqlite3.Connection, entity_ids: Sequence[str]) -> list[EntityHit]:
    """See `GraphStore.entities`."""
    rows = connection.execute(_NAMED, (json.dumps(entity_ids),))
    found = {row[0]: EntityHit(row[0], row[1], row[2], 0.0, row[3]) for row in rows}
    return [found[entity_id] for entity_id in dict.fromkeys(entity_ids) if entity_id in found]


def open_names(path: Path) -> sqlite3.Connection:
    """A connection for `find_names`, for one thread at a time. Writes nothing, not even a lock, so the folder may
    be read-only.
    """
    return sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True, check_same_thread=False)


def find_names(connection: sqlite3.Connection, phrase: str, limit: int) -> list[EntityHit]:
    """Entities that share a word with `phrase`, by BM25, then by entity_id."""
    asked = query_words(phrase)
    if not asked:
        return []
    # Quoted words are plain text: NEAR, AND and * have no meaning.
    query = " OR ".join(f'"{word}"' for word in asked)
    return [EntityHit(*row) for row in connection.execute(_FIND, (query, limit))]
