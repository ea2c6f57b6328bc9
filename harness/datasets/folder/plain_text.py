"""Reads plain text and Markdown, unchanged."""

from harness.datasets.folder.text_cleanup import NoDocument, ReadText, no_heading
from harness.display.page_and_section import headings


def read_text(content: bytes) -> ReadText:
    """Read a plain text file."""
    return ReadText(no_heading(decoded(content)))


def read_markdown(content: bytes) -> ReadText:
    """Read Markdown; its headings stay, because they describe the passages. The first one is the title."""
    text = decoded(content)
    return ReadText(text, title=first.title if (first := next(headings(text), None)) else "")


def decoded(content: bytes) -> str:
    """Decode UTF-8, or UTF-16 and UTF-32 with a byte order mark."""
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
