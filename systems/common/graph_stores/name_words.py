"""Splits names into words for full-text search, in the same way for both stores."""

import unicodedata
from itertools import groupby

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
