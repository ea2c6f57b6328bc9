"""What a reader makes of a file, and what becomes of it in every format alike."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

PAGE_BREAK = "\f"
"""Stands between the pages of a text: `harness.display.document_positions` counts them."""
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff\ud800-\udfff]")
"""Controls that no text needs; tabs, line ends and page breaks stay."""
_LIKE_HEADING = re.compile(r"^(#{1,6}[ \t])", re.MULTILINE)
_LONGEST_TITLE = 200


class NoDocument(Exception):
    """A file that gives no document; its text is the reason, without the file's name: many may share it."""


@dataclass(frozen=True)
class ReadText:
    """A text as a reader found it."""

    text: str
    title: str = ""
    doc_id: str = ""
    """As the file says; empty: the file's name."""
    row_id: str = ""
    """What a row calls itself, which may name one document of the folder or several."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    remarks: Mapping[str, int] = field(default_factory=dict)
    """What is missing in it, such as pages without text, and how many of them."""


def plain(text: str) -> str:
    r"""Composed (NFC), with `\n` at the end of lines and without controls: what every document's text is."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _NOT_TEXT.sub("", unicodedata.normalize("NFC", text))


def one_line(text: str) -> str:
    """A title: one line of bounded length."""
    return " ".join(plain(text).split())[:_LONGEST_TITLE].strip()


def no_heading(text: str) -> str:
    """Text that is no Markdown: a line that only looks like a heading, such as a comment of code, is moved by a
    blank.
    """
    return _LIKE_HEADING.sub(r" \1", text)


def heading(level: int, text: str) -> str:
    """A heading as Markdown writes it: in every format's text they stand so."""
    return f"{'#' * max(1, min(level, 6))} {' '.join(text.split())}"
