"""Reads PowerPoint files (.pptx): slides in order, with their tables and notes."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from harness.core.page_and_section import PAGE_BREAK
from harness.datasets.folder.docx import check_packed
from harness.datasets.folder.text_cleanup import (
    NoDocument,
    ReadText,
    heading,
    no_heading,
    superscript,
    table_text,
)

_TITLES = {"title", "ctrTitle"}
_NO_CONTENT = {"dt", "ftr", "hdr", "sldNum", "sldImg"}
"""Placeholders of dates, footers, headers, numbers, and the picture of a slide above its notes."""
_NO_TITLES = {"", "powerpoint presentation", "powerpoint-präsentation", "présentation powerpoint"}


def read_slides(file: BinaryIO, at_work: Callable[[], None]) -> ReadText:
    """Each slide is a page: its title, texts, tables and diagrams as they are stored, and its notes. NoDocument:
    not a presentation, protected by a password, or too large when unpacked.
    """
    names = set(check_packed(file, "PowerPoint", ".pptx"))
    with zipfile.ZipFile(file) as packed:
        deck = _Deck(packed, names)
        main = next(iter(deck.related("", "officeDocument").values()), "")
        if not main:
            raise NoDocument("damaged PowerPoint file")
        targets = deck.related(main, "slide")
        ids = [_relation(one) for one in deck.root(main).iterfind("{*}sldIdLst/{*}sldId")]
        pages = []
        for number in filter(None, (targets.get(one) for one in ids)):
            at_work()
            pages.append("\n\n".join(deck.blocks(number)))
        core = next(iter(deck.related("", "core-properties").values()), "")
        titled = (deck.root(core).findtext("{*}title") or "").strip() if core else ""
    if not any(map(str.strip, pages)):
        raise NoDocument("without text")
    return ReadText(
        f"\n{PAGE_BREAK}".join(f"{page}\n" for page in pages),
        title=deck.first if titled.casefold() in _NO_TITLES else titled,
        remarks={"hidden slides, which are read": deck.hidden} if deck.hidden else {},
        left_out={"charts of PowerPoint files": deck.charts} if deck.charts else {},
    )


class _Deck:
    def __init__(self, packed: zipfile.ZipFile, names: set[str]) -> None:
        self.first = ""
        """The title of the first slide that has one."""
        self.hidden = 0
        self.charts = 0
        self._packed = packed
        self._names = names

    def root(self, part: str) -> Any:
        from lxml import etree

        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        return etree.fromstring(self._packed.read(part), parser)

    def related(self, part: str, kind: str) -> dict[str, str]:
        """The parts that a part refers to, by the id of the relation. `kind`: such as slide."""
        folder, _, name = part.rpartition("/")
        place = posixpath.join(folder, "_rels", f"{name}.rels")
        if place not in self._names:
            return {}
        found = {}
        for one in self.root(place).iterfind("{*}Relationship"):
            target = posixpath.normpath(posixpath.join("/", folder, one.get("Target", ""))).lstrip("/")
            if one.get("Type", "").rpartition("/")[2] == kind and target in self._names:
                found[one.get("Id", "")] = target
        return found

    def blocks(self, slide: str) -> Iterator[str]:
        root = self.root(slide)
        self.hidden += root.get("show") in {"0", "false"}
        shapes = list(_shapes(root))
        for shape in shapes:
            if _placeholder(shape) in _TITLES and (title := " ".join(_text(shape).split())):
                self.first = self.first or title
                yield heading(1, title)
        diagrams = self.related(slide, "diagramData")
        for shape in shapes:
            if _placeholder(shape) in _TITLES | _NO_CONTENT:
                continue
            text = self._graphic(shape, diagrams) if _name(shape) == "graphicFrame" else no_heading(_text(shape))
            if text.strip():
                yield text.strip()
        for notes in self.related(slide, "notesSlide").values():
            said = [_text(shape) for shape in _shapes(self.root(notes)) if _placeholder(shape) not in _NO_CONTENT]
            if text := "\n".join(filter(None, map(str.strip, said))):
                yield f"Notes: {text}"

    def _graphic(self, frame: Any, diagrams: dict[str, str]) -> str:
        for table in frame.iter("{*}tbl"):
            rows = [[_text(cell) for cell in row.iterfind("{*}tc")] for row in table.iterfind("{*}tr")]
            look = table.find("{*}tblPr")
            return table_text(rows, is_headed=look is not None and look.get("firstRow") in {"1", "true"})
        for ids in frame.iter("{*}relIds"):
            part = diagrams.get(_relation(ids, "dm"))
            return no_heading(_text(self.root(part))) if part else ""
        self.charts += next(frame.iter("{*}chart"), None) is not None
        return ""


def _shapes(root: Any) -> Iterator[Any]:
    """Shapes and frames in their order, also those in groups."""
    for one in root.iter("{*}sp", "{*}graphicFrame"):
        if next(one.iterancestors("{*}Fallback"), None) is None:
            yield one


def _placeholder(shape: Any) -> str:
    found = next(shape.iterfind("{*}nvSpPr/{*}nvPr/{*}ph"), None)
    return "" if found is None else found.get("type", "body")


def _text(shape: Any) -> str:
    """The paragraphs of a shape, a cell or a diagram, one a line."""
    lines = ("".join(_runs(paragraph)) for paragraph in shape.iter("{*}p"))
    return "\n".join(line for line in lines if line.strip())


def _runs(paragraph: Any) -> Iterator[str]:
    for one in paragraph.iter("{*}r", "{*}fld", "{*}br"):
        text = "\n" if _name(one) == "br" else one.findtext("{*}t") or ""
        look = one.find("{*}rPr")
        raised = "" if look is None else look.get("baseline", "")
        yield superscript(text) if raised[:1].isdigit() and raised.strip("0%") else text


def _name(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _relation(element: Any, name: str = "id") -> str:
    """The id of a relation, whose attribute is in a namespace of its own."""
    return next((value for key, value in element.attrib.items() if key.endswith(f"}}{name}")), "")
