"""Splits texts into sentences, with their positions."""

from collections.abc import Iterator

from harness.core.records import Context, Span
from harness.core.scripts import SENTENCE_END


def own_text(passage: Context, span: Span) -> str:
    """The document's text in a passage, without its heading."""
    return passage.text[len(passage.text) - (span.end - span.start) :]


_LONGEST = 600
"""Characters; longer sentences are tables or lists, and are split."""


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of each sentence, in order: `text[start:end]` without the white space around it."""
    start = 0
    ends = [(match.start(), match.end()) for match in SENTENCE_END.finditer(text)]
    for end, behind in [*ends, (len(text), len(text))]:
        line = text[start:end]
        first = start + len(line) - len(line.lstrip())
        last = start + len(line.rstrip())
        for cut in range(first, last, _LONGEST):
            yield cut, min(cut + _LONGEST, last)
        start = behind
