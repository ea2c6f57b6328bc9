"""Full-text search of entity names: their words, the same for both stores, and an SQLite table."""

import json
import sqlite3
import unicodedata
from collections.abc import Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path

from systems.common.graph_stores.contract import EntityHit
from systems.common.knowledge_graph import KnowledgeGraph

_LONGEST = 100
"""Characters; Lucene would cut a word of more than 255 in two."""

_MOST_IN_A_QUERY = 256
"""Lucene refuses a query of more than 1,024."""


def words(text: str) -> list[str]:
    """Runs of letters, digits and marks, case folded and without accents, in order.

    No stemming, no stop words: `U.S. Steel's Café` is u, s, steel, s, cafe. In scripts without spaces, such as
    Chinese, each run is one word.
    """
    plain = "".join(character for character in _decomposed(text) if not _is_accent(character))
    folded = unicodedata.normalize("NFC", plain).casefold()
    runs = groupby(folded, key=_in_word)
    return ["".join(run)[:_LONGEST] for inside, run in runs if inside]


def query_words(phrase: str) -> list[str]:
    """The distinct words to search for, at most 256."""
    return list(dict.fromkeys(words(phrase)))[:_MOST_IN_A_QUERY]


def _decomposed(text: str) -> str:
    return unicodedata.normalize("NFKD", text)


def _is_accent(character: str) -> bool:
    """Whether it is an accent of Latin, Greek or Cyrillic; marks of other scripts are letters."""
    return "\u0300" <= character <= "\u036f"


def _in_word(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character)[0] == "M"


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


def store_names(path: Path, graph: KnowledgeGraph) -> None:
    """A new file with each entity and its degree, by entity_id, which breaks ties."""
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(_TABLE)
        file.executemany(
            "INSERT INTO entities (words, entity_id, name, kind, degree) VALUES (?, ?, ?, ?, ?)",
            (
                (" ".join(words(one.name)), one.entity_id, one.name, one.kind, graph.degrees[one.entity_id])
                for one in graph.entities
            ),
        )
        file.execute("INSERT INTO entities (entities) VALUES ('optimize')")


def entities_by_id(connection: sqlite3.Connection, entity_ids: Sequence[str]) -> list[EntityHit]:
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
