"""Reads Word files (.docx): paragraphs, headings and tables in order."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from harness.datasets.folder.text_cleanup import NoDocument, ReadText, heading, no_heading

if TYPE_CHECKING:
    from docx.document import Document as WordDocument

_MOST_BYTES = 300_000_000
"""Largest unpacked size, as declared by the file; zipfile never unpacks more than declared."""
_MOST_STYLES = 50
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_AWAY = {f"{_W}moveFrom", f"{_W}del", "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"}
"""Text that was moved or deleted with change tracking, and copies of text boxes for old programs."""
_TEXTS = {f"{_W}t", "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"}
_MARKS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}


def read_word(file: BinaryIO, at_work: Callable[[], None]) -> ReadText:
    """All text except headers, footers and notes. A Word file has no page breaks, because it is paginated on
    output.

    NoDocument: not a Word file, protected by a password, or too large when unpacked.
    """
    import docx

    _check_size(file)
    at_work()
    document = docx.Document(file)
    levels = _heading_levels(document)
    blocks = list(_blocks(document.element.body, levels))
    titled = next((text for level, text in blocks if level == 0), "") or (document.core_properties.title or "")
    first = next((text for level, text in blocks if level), "")
    texts = [no_heading(text) if level is None else heading(max(level, 1), text) for level, text in blocks]
    return ReadText("\n\n".join(texts), title=titled.strip() or first)


def _check_size(file: BinaryIO) -> None:
    start = file.read(8)
    if start.startswith(b"\xd0\xcf\x11\xe0"):  # Container of password-protected and old .doc files.
        raise NoDocument("encrypted or an old .doc: save it as .docx without a password")
    file.seek(0)
    try:
        with zipfile.ZipFile(file) as packed:
            size = sum(part.file_size for part in packed.infolist())
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise NoDocument("damaged Word file") from error
    if size > _MOST_BYTES:
        raise NoDocument("too large when unpacked")
    file.seek(0)


def _heading_levels(document: WordDocument) -> dict[str, int]:
    """Heading level by style id, 0 for the title. A style inherits the level of its base style."""
    levels: dict[str, int] = {}
    for style in document.styles:
        base: Any = style
        for _ in range(_MOST_STYLES):
            name = (base.name or "").lower()
            number = name.removeprefix("heading ")
            if name == "title" or (number != name and number.isdigit()):
                levels[style.style_id] = 0 if name == "title" else int(number)
                break
            base = getattr(base, "base_style", None)
            if base is None:
                break
    return levels


def _blocks(parent: Any, levels: dict[str, int]) -> Iterator[tuple[int | None, str]]:
    """(heading level or None, text) of each paragraph and table row with text."""
    for child in parent:
        if child.tag == f"{_W}p":
            text = "".join(_inline(child)).strip()
            style = child.find(f"{_W}pPr/{_W}pStyle")
            if text:
                yield levels.get(style.get(f"{_W}val")) if style is not None else None, text
        elif child.tag == f"{_W}tr":
            cells = [" ".join("".join(_inline(cell)).split()) for cell in _cells(child)]
            if any(cells):
                yield None, " | ".join(cells)
        elif isinstance(child.tag, str) and child.tag not in _AWAY:
            yield from _blocks(child, levels)


def _cells(row: Any) -> Iterator[Any]:
    """The cells of a row, also inside content controls. A nested table belongs to the text of its cell."""
    for child in row:
        if child.tag == f"{_W}tc":
            yield child
        elif isinstance(child.tag, str) and child.tag not in _AWAY:
            yield from _cells(child)


def _inline(parent: Any) -> Iterator[str]:
    for child in parent:
        if child.tag in _TEXTS:
            yield "".join(child.itertext())
        elif child.tag in _MARKS:
            yield _MARKS[child.tag]
        elif child.tag not in _AWAY and isinstance(child.tag, str):
            if child.tag == f"{_W}p":  # In a cell, or in a text box within a paragraph.
                yield "\n"
            yield from _inline(child)
