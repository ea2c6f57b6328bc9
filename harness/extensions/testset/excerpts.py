"""Splits documents into excerpts, and excerpts into sentences, all verbatim, so that each sentence is a quote."""

import re
from collections.abc import Iterator

from harness.core.scripts import SENTENCE_MARK_END
from harness.extraction.text_windows import windows_of

LONGEST_EXCERPT = 1_500
"""Characters of the excerpt for one question: what a small model reads closely."""
_LONGEST_QUOTE = 400
"""Characters; longer quotes do not fit into a chunk."""
_BLOCK = 100_000
_SHORTEST_QUOTE = 20
"""Bytes in UTF-8: scripts without spaces say in 7 characters what English says in 20."""
_ABBREVIATED = (
    r"(?<!\b[A-Z]\.)(?<!\b(?:Mr|Ms|Dr|St|vs|No|Jr|Sr|Co)\.)(?<!\b(?:Mrs|Inc|Ltd|etc)\.)(?<!\bProf\.)"
    r"(?<!\b(?:e\.g|i\.e)\.)"
)
_SENTENCE_END = re.compile(
    rf"(?<=[.!?]){_ABBREVIATED}\s+(?![a-z])|(?<=[.!?][\"')\]\u201d\u2019])\s+|{SENTENCE_MARK_END}"
)
_ITEM = re.compile(r"\s*(?:[-*+>|#\u2022]|\d{1,3}[.)] )")
"""The start of a list item, a table row or a heading."""


def passages_of(text: str, longest: int = LONGEST_EXCERPT) -> list[str]:
    """The text in parts of at most `longest` characters, each verbatim; only white space is dropped."""
    return [passage for block in _blocks(text) for passage in windows_of(block, longest)]


def _blocks(text: str) -> Iterator[str]:
    """The text cut at line ends or spaces, because cutting windows off one long text copies the text each time."""
    start = 0
    while start < len(text):
        end = start + _BLOCK
        cuts = (text.rfind(mark, end - _BLOCK // 2, end) + 1 for mark in "\n ") if end < len(text) else ()
        end = next(filter(None, cuts), end)
        yield text[start:end]
        start = end


def sentences_of(passage: str) -> tuple[str, ...]:
    """The sentences and lines long enough to be quoted, in order and verbatim, without Markdown headings; those
    that are too long are cut between words.
    """
    return tuple(_quotable(passage))


def _quotable(passage: str) -> Iterator[str]:
    for unit in _units(passage):
        for sentence in _SENTENCE_END.split(unit):
            for part in windows_of(sentence, _LONGEST_QUOTE):
                is_long_enough = len(part.encode(errors="replace")) >= _SHORTEST_QUOTE
                if is_long_enough and any(map(str.isalpha, part)) and not part.startswith("#"):
                    yield part


def _units(passage: str) -> Iterator[str]:
    """Paragraphs, items and headings. Continuation lines stay together: in a PDF each line ends where it
    is full.
    """
    unit, is_whole = "", False
    for line in passage.splitlines(keepends=True):
        if unit and (is_whole or not line.strip() or _ITEM.match(line)):
            yield unit
            unit = ""
        unit += line
        is_whole = line.startswith(("#", "|")) or line.endswith("\f") or not line.strip()
    yield unit
