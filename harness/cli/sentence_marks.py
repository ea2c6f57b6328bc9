"""Where sentences stand in a text, and the text with them marked."""

from collections.abc import Mapping, Sequence

from rich.text import Text

from harness.core.records import Context, Document

STYLE = "bold underline green"
_AROUND = 160
"""Characters on either side of a sentence that are shown with it."""

Place = tuple[int, int]
"""Start and end in a text, in characters."""


def place_in(text: str, sentence: str) -> Place | None:
    """Where a sentence stands, whatever the white space, as the retrieval measures look for it."""
    places = [place for place, char in enumerate(text) if not char.isspace()]
    wanted = "".join(sentence.split())
    start = "".join(text.split()).find(wanted) if wanted else -1
    return (places[start], places[start + len(wanted) - 1] + 1) if start >= 0 else None


def places_of(sentences: Sequence[Context], context: Context) -> dict[int, Place]:
    """Those that stand in a context of one of their documents, by number from 1."""
    found = {
        nth: place_in(context.text, sentence.text)
        for nth, sentence in enumerate(sentences, start=1)
        if set(sentence.doc_ids) & set(context.doc_ids)
    }
    return {nth: place for nth, place in found.items() if place is not None}


def around(sentence: Context, documents: Mapping[str, Document]) -> Text:
    """A sentence, marked, within what stands around it in its document; alone where that is not known."""
    span = sentence.span
    whole = documents[span.doc_id].text if span and span.doc_id in documents else ""
    if span is None or whole[span.start : span.end] != sentence.text:
        return Text(sentence.text, style=STYLE)
    start, end = max(0, span.start - _AROUND), min(len(whole), span.end + _AROUND)
    before = ("…" if start else "") + whole[start : span.start]
    after = whole[span.end : end] + ("…" if end < len(whole) else "")
    return Text.assemble(before, (sentence.text, STYLE), after)


def marked(text: str, places: Mapping[int, Place]) -> Text:
    """The text with those places in a style of their own."""
    shown = Text(text)
    for start, end in places.values():
        shown.stylize(STYLE, start, end)
    return shown
