"""The result of reading a file, and the text cleanup that all formats share."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

_NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff\ud800-\udfff]")
"""Control characters; tabs, line breaks and page breaks are kept."""
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x85\u2028\u2029]")
_SPACES = re.compile("[\u00a0\u2000-\u200a\u202f\u205f]")
"""Spaces of other widths. Not U+3000, the full-width space of Chinese and Japanese text."""
_SHAPES = re.compile("[\u2e80-\u2fd5\ufb00-\ufdff\ufe70-\ufefc]")
"""Glyphs that fonts and PDF files have for letters: ligatures, Arabic letters by position, radicals."""
_INVISIBLE = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
"""Word joiner, byte order mark, direction marks, invisible operators, marks of annotations."""
_SOFT_HYPHEN = re.compile("(?<=[^\\W\\d_])\u00ad+[ \\t]*\n[ \\t]*(?=[^\\W\\d_])|\u00ad")
_NO_SPACES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Thai, Lao, Burmese, Khmer: a zero-width space separates words."""
_ZERO_SPACE = re.compile(f"(?<![{_NO_SPACES}])\u200b|\u200b(?![{_NO_SPACES}])")
_JOINED = (
    "\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ua840-\ua87f\ua8e0-\ua8ff\ufb50-\ufdff\ufe70-\ufefc"
    "\u2190-\u2bff\ufe0f\U00011000-\U000114ff\U0001e900-\U0001e95f\U0001f000-\U0001faff"
)
"""Scripts and emoji in which joiners change what is read."""
_JOINERS = re.compile(f"(?<![{_JOINED}])[\u200c\u200d]+(?![{_JOINED}])")
_WITHIN_WORDS = {_SOFT_HYPHEN: "\u00ad", _ZERO_SPACE: "\u200b", _JOINERS: "\u200c\u200d"}
_TAG = re.compile("[\U000e0000-\U000e007f]")
_TAGS = re.compile(f"(?<![\U0001f3f4\U000e0020-\U000e007e]){_TAG.pattern}+")
"""Invisible copies of ASCII. Only flags of regions, after a black flag, have a use for them."""
UNREADABLE = re.compile(r"\ufffd|\(cid:\d+\)")
"""What converters write for a character that they cannot read."""
_LIKE_HEADING = re.compile(r"^(#{1,6}[ \t])", re.MULTILINE)
_EXPONENT = re.compile(r"[-+\N{MINUS SIGN}]?[0-9]{1,4}[-+\N{MINUS SIGN}]?|[-+\N{MINUS SIGN}]")
_SUPERSCRIPTS = str.maketrans("0123456789+-\N{MINUS SIGN}", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_LONGEST_TABLE = 1000
"""Characters of a header and the rows below it; less than the usual size of a chunk."""
LONGEST_CELL = 1000
"""Characters. A table with a longer cell is the layout of a page, not data."""
LONGEST_REPEATED = 200
"""Characters of a cell that is repeated in the rows it spans."""


class NoDocument(Exception):
    """Raised for a file that gives no document. The message is the reason, without the file name."""


@dataclass(frozen=True)
class ReadText:
    text: str
    title: str = ""
    doc_id: str = ""
    """The id given in the file; empty: use the file name."""
    part: str = ""
    """The part of the file that it is, such as `rows 2-51`; empty: the whole file."""
    row_id: str = ""
    """The id of a row, which may not be unique in the folder."""
    place: str = ""
    """Where a row is in its file, such as `line 3`."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    remarks: Mapping[str, int] = field(default_factory=dict)
    """Problems, such as pages without text, and how often each occurs."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Parts that are left out on purpose, such as menus, and how many."""


@dataclass(frozen=True)
class ReadFile:
    documents: Sequence[ReadText] = ()
    refused: Sequence[tuple[str, str]] = ()
    """Place and reason of what gives no document: `line 3`, or empty for the whole file."""


def plain(text: str) -> str:
    r"""The text of a document or quote: NFC, `\n` line breaks, ordinary letters and spaces, nothing invisible.

    NFKC only for glyphs of letters: elsewhere it changes what is said (10² to 102, 1½ to 11/2).
    """
    if text.isascii() and text.isprintable():
        return text
    text = _LINE_ENDS.sub("\n", text)
    if not text.isascii():
        text = _SHAPES.sub(_letters, _SPACES.sub(" ", _INVISIBLE.sub("", text)))
        for pattern, signs in _WITHIN_WORDS.items():
            if any(sign in text for sign in signs):  # Faster than the pattern.
                text = pattern.sub("", text)
        if _TAG.search(text):
            text = _TAGS.sub("", text)
    return composed(text)


def composed(text: str) -> str:
    """The text in NFC without control characters; used for names, which keep everything else."""
    return _NOT_TEXT.sub("", unicodedata.normalize("NFC", text))


def _letters(shape: re.Match[str]) -> str:
    """The letters that a glyph stands for, unless it is a mark alone or a whole phrase."""
    letters = unicodedata.normalize("NFKC", shape[0])
    return shape[0] if " " in letters or "\u0640" in letters else letters


def one_line(text: str) -> str:
    """A text as a title: one line of bounded length."""
    return " ".join(plain(text).split())[:200].strip()


def no_heading(text: str) -> str:
    """Indent lines of non-Markdown text that look like a heading, such as comments in code, by one blank."""
    return _LIKE_HEADING.sub(r" \1", text)


def heading(level: int, text: str) -> str:
    return f"{'#' * max(1, min(level, 6))} {' '.join(text.split())}"


def superscript(text: str) -> str:
    """A raised number or sign in superscript characters, `^1/2` for one that has none; any word as it is."""
    if _EXPONENT.fullmatch(text):
        return text.translate(_SUPERSCRIPTS)
    return f"^{text}" if text[:1].isdigit() and not text.isalnum() else text


def table_text(rows: Iterable[Sequence[str]], *, is_headed: bool) -> str:
    """A table with a line for each row. `is_headed`: the first row names the columns."""
    lines = [" | ".join(" ".join(cell.split()) for cell in row) for row in rows]
    lines = [no_heading(line) for line in lines if line.replace("|", "").strip()]
    return "\n".join([lines[0], *rows_below(lines[:1], lines[1:])] if is_headed and lines else lines)


def row_text(names: Sequence[str], cells: Sequence[str]) -> str:
    """`Header: value; Header: value` without empty cells."""
    named = ((names[at] if at < len(names) else "", cell) for at, cell in enumerate(cells))
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in named if cell)


def rows_below(header: Sequence[str], rows: Iterable[str]) -> list[str]:
    """The rows below a header. In a long table, the header is repeated after a blank line, where chunks are cut
    first, so that a chunk has the names of its columns.
    """
    written: list[str] = []
    named = sum(len(line) + 1 for line in header)
    length = named
    for row in rows:
        length += len(row) + 1
        if written and length > _LONGEST_TABLE and named < _LONGEST_TABLE // 2:
            written += ["", *header]
            length = named + len(row) + 1
        written.append(row)
    return written


class SpannedCells:
    """The cells of rows in which a cell may continue in the rows below; these repeat its text."""

    _MOST = 1_000_000

    def __init__(self) -> None:
        self._above: dict[int, tuple[int, str, int]] = {}
        self._repeated = 0

    def row(self, cells: Iterable[tuple[str, int, int]]) -> list[str]:
        """The texts of a row. `cells`: text, columns and rows of each new cell."""
        texts: list[str] = []
        column = 0
        for text, wide, high in cells:
            column = self._continue(texts, column)
            texts.append(text)
            if high > 1 and len(text) <= LONGEST_REPEATED:
                self._above[column] = (high - 1, text, wide)
            column += wide
        self._continue(texts, column)
        return texts

    def _continue(self, texts: list[str], column: int) -> int:
        while column in self._above:
            left, text, wide = self._above.pop(column)
            self._repeated += len(text) + 1
            if left > 1 and self._repeated < self._MOST:
                self._above[column] = (left - 1, text, wide)
            texts.append(text)
            column += wide
        return column
