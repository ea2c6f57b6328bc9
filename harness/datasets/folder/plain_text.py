"""Plain text and Markdown, as they stand."""

from harness.datasets.folder.text_cleanup import NoDocument, ReadText, no_heading
from harness.display.document_positions import headings


def read_text(content: bytes) -> ReadText:
    """A file of plain text."""
    return ReadText(no_heading(decoded(content)))


def read_markdown(content: bytes) -> ReadText:
    """Markdown as it stands, its headings too: they say what a passage is about. The first one is the title."""
    text = decoded(content)
    return ReadText(text, title=first.title if (first := next(headings(text), None)) else "")


def decoded(content: bytes) -> str:
    """The text, where it is UTF-8, or says by its first bytes that it is UTF-16 or UTF-32."""
    if content.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        coding = "utf-32"
    elif content.startswith((b"\xff\xfe", b"\xfe\xff")):
        coding = "utf-16"
    else:
        coding = "utf-8-sig"
    try:
        text = content.decode(coding)
    except UnicodeDecodeError as error:
        raise NoDocument("binary, not text" if b"\0" in content else "not UTF-8: save it as UTF-8") from error
    if "\0" in text:
        raise NoDocument("binary, not text")
    return text
