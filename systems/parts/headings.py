"""The line that says what a text is: title, source and date, shown to the model before the text."""

from harness.records import Document
from systems.parts.chunking import Chunk


def document_heading(document: Document) -> str:
    """Title, source and date of a document on one line, as far as the corpus has them."""
    parts = [document.title, document.metadata.get("source", ""), document.metadata.get("published_at", "")[:10]]
    return " | ".join(" ".join(part.split()) for part in parts if part)


def under_heading(heading: str, text: str) -> str:
    """The text with its heading, if it has one, on a line of its own before it."""
    return f"{heading}\n{text}" if heading else text


def passage_text(chunk: Chunk) -> str:
    """A chunk as a model is to read it."""
    return under_heading(document_heading(chunk.document), chunk.text.strip())
