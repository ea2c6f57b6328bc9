"""The words of a name for full-text search: the same in both stores, whatever their tokenisers do."""

import unicodedata
from itertools import groupby

_LONGEST = 100
"""Characters; Lucene would cut a word of more than 255 in two."""

_MOST_IN_A_QUERY = 256
"""Lucene refuses a query of more than 1,024."""


def words(text: str) -> list[str]:
    """Runs of letters, digits and marks, case folded and without accents, in their order.

    No stemming, no stop words: `U.S. Steel's Café` is u, s, steel, s, cafe. A script that puts no spaces between
    words, such as Chinese, gives one word a run.
    """
    plain = "".join(character for character in _decomposed(text) if not _is_accent(character))
    folded = unicodedata.normalize("NFC", plain).casefold()
    runs = groupby(folded, key=_in_word)
    return ["".join(run)[:_LONGEST] for inside, run in runs if inside]


def query_words(phrase: str) -> list[str]:
    """The words to search for: each once, the first 256."""
    return list(dict.fromkeys(words(phrase)))[:_MOST_IN_A_QUERY]


def _decomposed(text: str) -> str:
    return unicodedata.normalize("NFKD", text)


def _is_accent(character: str) -> bool:
    """Those of Latin, Greek and Cyrillic; the marks of other scripts are letters of theirs."""
    return "\u0300" <= character <= "\u036f"


def _in_word(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character)[0] == "M"
