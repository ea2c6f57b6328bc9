"""The result of reading a file, and the text cleanup that all formats share."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

PAGE_BREAK = "\f"
"""Separates pages; `harness.display.page_and_section` counts it."""
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff\ud800-\udfff]")
"""Control characters; tabs, line breaks and page breaks are kept."""
_LIKE_HEADING = re.compile(r"^(#{1,6}[ \t])", re.MULTILINE)
_LONGEST_TITLE = 200


class NoDocument(Exception):
    """Raised for a file that gives no document. The message is the reason, without the file name."""


@dataclass(frozen=True)
class ReadText:
    """A text as read from a file."""

    text: str
    title: str = ""
    doc_id: str = ""
    """The id given in the file; empty: use the file name."""
    row_id: str = ""
    """The id of a row, which may not be unique in the folder."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    remarks: Mapping[str, int] = field(default_factory=dict)
    """Problems, such as pages without text, and how often each occurs."""


def plain(text: str) -> str:
    r"""The text in NFC, with `\n` line breaks and without control characters; used for all documents."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _NOT_TEXT.sub("", unicodedata.normalize("NFC", text))


def one_line(text: str) -> str:
    """A text as a title: one line of bounded length."""
    return " ".join(plain(text).split())[:_LONGEST_TITLE].strip()


def no_heading(text: str) -> str:
    """Indent lines of non-Markdown text that look like a heading, such as comments in code, by one blank."""
    return _LIKE_HEADING.sub(r" \1", text)


def heading(level: int, text: str) -> str:
    """A Markdown heading, used for headings of every format."""
    return f"{'#' * max(1, min(level, 6))} {' '.join(text.split())}"
