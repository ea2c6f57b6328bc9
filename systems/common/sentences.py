"""Splits texts into sentences and strips of a few sentences, with their positions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from harness.core.records import Context, Span
from harness.core.scripts import SENTENCE_END
from systems.common.headings import under_heading


def own_text(passage: Context, span: Span) -> str:
    """The document's text in a passage, without its heading."""
    return passage.text[len(passage.text) - (span.end - span.start) :]


@dataclass(frozen=True)
class StrippedPassage:
    context: Context
    span: Span
    heading: str
    own: str
    """Its text without the heading."""
    strips: tuple[tuple[int, int], ...]
    """Start and end of each within `own`."""

    @classmethod
    def of(cls, context: Context, sentences: int) -> Self:
        """Strips of `sentences` sentences, perhaps fewer in the last. ValueError for a context without a span."""
        if (span := context.span) is None:
            raise ValueError("only a text with its place in a document has strips with theirs")
        own = own_text(context, span)
        lines = list(sentence_spans(own))
        groups = [lines[start : start + sentences] for start in range(0, len(lines), sentences)]
        strips = tuple((group[0][0], group[-1][1]) for group in groups)
        return cls(context, span, context.text.removesuffix(own).strip(), own, strips)

    @property
    def texts(self) -> list[str]:
        return [self.own[start:end] for start, end in self.strips]

    def recomposed(self, passes: Sequence[bool]) -> Iterator[Context]:
        """The strips that pass, neighbours joined, each below the heading and with its own span."""
        runs: list[tuple[int, int]] = []
        for number, ((start, end), is_kept) in enumerate(zip(self.strips, passes, strict=True)):
            if is_kept and number and passes[number - 1]:
                runs[-1] = (runs[-1][0], end)
            elif is_kept:
                runs.append((start, end))
        for start, end in runs:
            span = Span(doc_id=self.span.doc_id, start=self.span.start + start, end=self.span.start + end)
            text = under_heading(self.heading, self.own[start:end])
            yield self.context.model_copy(update={"text": text, "span": span})


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
