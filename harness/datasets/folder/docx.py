"""Reads Word files (.docx): paragraphs, headings, tables and notes in order."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Mapping, Set
from typing import TYPE_CHECKING, Any, BinaryIO

from harness.datasets.folder.text_cleanup import (
    LONGEST_CELL,
    LONGEST_REPEATED,
    NoDocument,
    ReadText,
    heading,
    no_heading,
    superscript,
    table_text,
)

if TYPE_CHECKING:
    from docx.document import Document as WordDocument

_MOST_BYTES = 300_000_000
"""Largest unpacked size, as declared by the file; zipfile never unpacks more than declared."""
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_AWAY = {f"{_W}moveFrom", f"{_W}del", "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"}
"""Text that was moved or deleted with change tracking, and copies of text boxes for old programs."""
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_TEXTS = {f"{_W}t", f"{_M}t"}
_BEFORE = {f"{_M}den": "/", f"{_M}rad": "\N{SQUARE ROOT}"}
"""Signs of formulas: one half is not 12."""
_REFERENCES = {f"{_W}footnoteReference": "footnote", f"{_W}endnoteReference": "endnote"}
_ON = {"1", "true", "on"}
_MARKS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}


def read_word(file: BinaryIO, at_work: Callable[[], None]) -> ReadText:
    """All text except comments, page headers and footers, and what is deleted or hidden. A footnote follows its
    paragraph. NoDocument: not a Word file, protected by a password, or too large when unpacked.
    """
    import docx

    check_packed(file, "Word", ".docx")
    at_work()
    document = docx.Document(file)
    reading = _Reading(_heading_levels(document), _notes(document))
    blocks = list(reading.blocks(document.element.body))
    titled = next((text for level, text in blocks if level == 0), "") or (document.core_properties.title or "")
    first = next((text for level, text in blocks if level), "")
    texts = [text if level is None else heading(max(level, 1), text) for level, text in blocks]
    left_out = _left_out(document, reading.hidden)
    return ReadText("\n\n".join(texts), title=titled.strip() or first, left_out=left_out)


def _notes(document: WordDocument) -> dict[str, Any]:
    """The element of each footnote and endnote, by kind and id."""
    found: dict[str, Any] = {}
    for kind, part in _parts(document, {"footnotes", "endnotes"}):
        for note in part:
            if note.get(f"{_W}type") in {None, "normal"}:
                found[f"{kind[:-1]} {note.get(f'{_W}id')}"] = note
    return found


def _parts(document: WordDocument, kinds: Set[str]) -> Iterator[tuple[str, Any]]:
    from docx.oxml import parse_xml

    for relation in document.part.rels.values():
        kind = relation.reltype.rpartition("/")[2]
        if kind in kinds and not relation.is_external:
            yield kind, parse_xml(relation.target_part.blob)


def _has_text(element: Any) -> bool:
    return any((text.text or "").strip() for text in element.iter(*_TEXTS))


def _left_out(document: WordDocument, hidden: int) -> dict[str, int]:
    counts = {"hidden texts of Word files": hidden}
    for kind, part in _parts(document, {"header", "footer", "comments"}):
        said = sum(map(_has_text, part if kind == "comments" else [part]))
        what = "comments of Word files" if kind == "comments" else "page headers and footers of Word files"
        counts[what] = counts.get(what, 0) + said
    return {what: count for what, count in counts.items() if count}


def check_packed(file: BinaryIO, program: str, kind: str) -> list[str]:
    """The names of the parts of an Office file. NoDocument: it is damaged, protected, or too large when unpacked.
    `program`: such as Word; `kind`: such as .docx.
    """
    start = file.read(8)
    if start.startswith(b"\xd0\xcf\x11\xe0"):  # Container of password-protected files and of old ones.
        raise NoDocument(f"encrypted or an old {kind[:-1]}: save it as {kind} without a password")
    file.seek(0)
    try:
        with zipfile.ZipFile(file) as packed:
            parts = packed.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise NoDocument(f"damaged {program} file") from error
    if sum(part.file_size for part in parts) > _MOST_BYTES:
        raise NoDocument("too large when unpacked")
    file.seek(0)
    return [part.filename for part in parts]


def _heading_levels(document: WordDocument) -> dict[str, int]:
    """Heading level by style id, 0 for the title. A style inherits the level of its base style."""
    levels: dict[str, int] = {}
    for style in document.styles:
        base: Any = style
        for _ in range(50):
            name = (base.name or "").lower()
            number = name.removeprefix("heading ")
            if name == "title" or (number != name and number.isdigit()):
                levels[style.style_id] = 0 if name == "title" else int(number)
                break
            base = getattr(base, "base_style", None)
            if base is None:
                break
    return levels


class _Reading:
    def __init__(self, levels: Mapping[str, int], notes: Mapping[str, Any]) -> None:
        self.hidden = 0
        self._levels = levels
        self._notes = dict(notes)
        self._referenced: list[tuple[int, Any]] = []
        self._n_notes = 0

    def blocks(self, parent: Any) -> Iterator[tuple[int | None, str]]:
        for child in parent:
            if child.tag == f"{_W}p":
                text = "".join(self._inline(child)).strip()
                level = self._levels.get(_value(child, "pPr", "pStyle") or "")
                if text:
                    yield level, no_heading(text) if level is None else text
            elif child.tag == f"{_W}tbl":
                if _is_layout(child):
                    for row in _children(child, "tr"):
                        for cell in _children(row, "tc"):
                            yield from self.blocks(cell)
                elif table := self._table(child):
                    yield None, table
            elif isinstance(child.tag, str) and child.tag not in _AWAY:
                yield from self.blocks(child)
            yield from self._notes_of_last()

    def _notes_of_last(self) -> Iterator[tuple[None, str]]:
        while self._referenced:
            number, note = self._referenced.pop(0)
            if text := " ".join("".join(self._inline(note)).split()):
                yield None, f"[{number}] {text}"

    def _table(self, table: Any) -> str:
        """A line for each row. A cell that continues the one above repeats its text."""
        above: dict[int, str] = {}
        rows = []
        for row in _children(table, "tr"):
            texts, column = [], 0
            for cell in _children(row, "tc"):
                text = " ".join("".join(self._inline(cell)).split())
                if _value(cell, "tcPr", "vMerge") not in {None, "restart"}:
                    text = text or above.get(column, "")
                above[column] = text if len(text) <= LONGEST_REPEATED else ""
                texts.append(text)
                column += int(_value(cell, "tcPr", "gridSpan") or 1)
            rows.append(texts)
        look = table.find(f"{_W}tblPr/{_W}tblLook")
        is_headed = table.find(f"{_W}tr/{_W}trPr/{_W}tblHeader") is not None or (
            look is not None
            and (look.get(f"{_W}firstRow") or f"{int(look.get(f'{_W}val', '0'), 16) >> 5 & 1}") in _ON
        )
        return table_text(rows, is_headed=is_headed)

    def _inline(self, parent: Any) -> Iterator[str]:
        for child in parent:
            if child.tag in _TEXTS:
                yield "".join(child.itertext())
            elif child.tag in _MARKS:
                yield _MARKS[child.tag]
            elif child.tag in _REFERENCES:
                note = self._notes.pop(f"{_REFERENCES[child.tag]} {child.get(f'{_W}id')}", None)
                if note is not None:
                    self._n_notes += 1
                    self._referenced.append((self._n_notes, note))  # Without a mark here: quotes have none.
            elif child.tag == f"{_W}r" and _value(child, "rPr", "vanish", default="true") in _ON:
                self.hidden += _has_text(child)
            elif child.tag == f"{_M}sup" or (
                child.tag == f"{_W}r" and _value(child, "rPr", "vertAlign") == "superscript"
            ):
                yield superscript("".join(self._inline(child)))
            elif child.tag not in _AWAY and isinstance(child.tag, str):
                if child.tag == f"{_W}p":  # In a cell, or in a text box within a paragraph.
                    yield "\n"
                yield _BEFORE.get(child.tag, "")
                yield from self._inline(child)
                yield "\n" if child.tag == f"{_W}txbxContent" else ""


def _children(parent: Any, tag: str) -> Iterator[Any]:
    """The rows of a table or the cells of a row, also inside content controls. A nested table belongs to the text
    of its cell.
    """
    for child in parent:
        if child.tag == f"{_W}{tag}":
            yield child
        elif isinstance(child.tag, str) and child.tag not in _AWAY:
            yield from _children(child, tag)


def _is_layout(table: Any) -> bool:
    """Whether a table only places text on the page: it has a cell with a long text, or one cell."""
    cells = [cell for row in _children(table, "tr") for cell in _children(row, "tc")]
    return len(cells) == 1 or any(
        sum(len(text.text or "") for text in cell.iter(*_TEXTS)) > LONGEST_CELL for cell in cells
    )


def _value(element: Any, *path: str, default: str = "") -> str | None:
    """The value of a mark of an element, `default` for a mark without one; None without the mark."""
    mark = element.find("/".join(f"{_W}{name}" for name in path))
    return None if mark is None else str(mark.get(f"{_W}val", default))
