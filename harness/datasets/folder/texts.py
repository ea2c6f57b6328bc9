"""What a reader makes of a file, and what becomes of it in every format alike."""

import re
import unicodedata
from dataclasses import dataclass, field

_NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff\ud800-\udfff]")
"""Controls that no text needs; tabs, line ends and form feeds (page breaks) stay."""
_LONGEST_TITLE = 200


class NoDocument(Exception):
    """A file that gives no document; its text is the reason, without the file's name."""


@dataclass(frozen=True)
class ReadText:
    """A text as a reader found it."""

    text: str
    title: str = ""
    doc_id: str = ""
    """As the file says; empty: the file's name."""
    metadata: dict[str, str] = field(default_factory=dict)


def plain(text: str) -> str:
    """Composed (NFC), with `\\n` at the end of lines and without controls: what every document's text is."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _NOT_TEXT.sub("", unicodedata.normalize("NFC", text))


def one_line(text: str) -> str:
    """A title: one line of bounded length."""
    return " ".join(plain(text).split())[:_LONGEST_TITLE]
