"""Tables, sections and lists as GitHub's Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.report.nouns import Picture, Section, Table
from harness.report.text import is_figure, markdown, printable

_LONGEST_CELL = 200
_LONGEST_TEXT = 2000
_LONGEST_COMMAND = 100_000

Lines = list[str]


def grid(header: Sequence[str], rows: Iterable[Sequence[str]], *, words: bool = False) -> Lines:
    """A table of plain cells: numbers to the right of a first column, or `words`."""
    rule = ["---", *["---" if words else "---:"] * (len(header) - 1)]
    body = [[_cell(cell) for cell in line] for line in (header, *rows)]
    return [f"| {' | '.join(line)} |" for line in (body[0], rule, *body[1:])]


def table_markdown(table: Table) -> str:
    """A file of its own: title, table, note."""
    return "\n".join([f"# {prose(table.title)}", "", *_body(table), ""])


def section_lines(section: Section) -> Lines:
    """A heading of the third level and everything below it, with an empty line after each part."""
    lines = [f"### {prose(section.title)}", ""]
    for paragraph in section.paragraphs:
        lines += [prose(paragraph), ""]
    if section.items:
        lines += [*[f"- {prose(item)}" for item in section.items], ""]
    for picture in section.pictures:
        lines += _picture(picture)
    for table in section.tables:
        if table.title != section.title:
            lines += [f"**{prose(table.title)}**", ""]
        lines += [*_body(table), ""]
    if section.code:
        # A fence of tildes: what stands inside starts with a command name, so no line can close it.
        lines += ["~~~sh", *[printable(line, _LONGEST_COMMAND) for line in section.code], "~~~", ""]
    return lines


def prose(text: str) -> str:
    """A sentence that is nothing but its letters."""
    return markdown(text, _LONGEST_TEXT)


def _body(table: Table) -> Lines:
    note = ["", prose(table.note)] if table.note else []
    return [*grid(table.header, table.rows, words=table.words), *note]


def _picture(picture: Picture) -> Lines:
    path = next((path for path in picture.paths if path.suffix == ".png"), None)
    if path is None:
        return []
    return [f"![{prose(picture.alt)}]({path.as_posix()})", "", prose(picture.caption), ""]


def _cell(text: str) -> str:
    return text if is_figure(text) else markdown(text, _LONGEST_CELL)
