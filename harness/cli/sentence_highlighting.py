"""Finds sentences in a text and highlights them."""

from collections.abc import Mapping, Sequence

from rich.text import Text

from harness.core.records import Context, Document

STYLE = "bold underline green"
_AROUND = 160  # Characters shown on each side of a sentence.

Place = tuple[int, int]
"""Start and end character offsets in a text."""


def place_in(text: str, sentence: str) -> Place | None:
    """The place of a sentence, ignoring white space as the retrieval metrics do; None if it is not in the text."""
    places = [place for place, char in enumerate(text) if not char.isspace()]
    wanted = "".join(sentence.split())
    start = "".join(text.split()).find(wanted) if wanted else -1
    return (places[start], places[start + len(wanted) - 1] + 1) if start >= 0 else None


def places_of(sentences: Sequence[Context], context: Context) -> dict[int, Place]:
    """Places in the context of those sentences that share a document with it, by sentence number from 1."""
    found = {
        nth: place_in(context.text, sentence.text)
        for nth, sentence in enumerate(sentences, start=1)
        if set(sentence.doc_ids) & set(context.doc_ids)
    }
    return {nth: place for nth, place in found.items() if place is not None}


def in_its_document(sentence: Context, documents: Mapping[str, Document]) -> Text:
    """A highlighted sentence with the text around it in its document; alone if its place is unknown."""
    span = sentence.span
    whole = documents[span.doc_id].text if span and span.doc_id in documents else ""
    if span is None or whole[span.start : span.end] != sentence.text:
        return Text(sentence.text, style=STYLE)
    start, end = max(0, span.start - _AROUND), min(len(whole), span.end + _AROUND)
    before = ("…" if start else "") + whole[start : span.start]
    after = whole[span.end : end] + ("…" if end < len(whole) else "")
    return Text.assemble(before, (sentence.text, STYLE), after)


def highlighted(text: str, places: Mapping[int, Place]) -> Text:
    """The text with these places highlighted."""
    shown = Text(text)
    for start, end in places.values():
        shown.stylize(STYLE, start, end)
    return shown
