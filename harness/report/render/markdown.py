"""Tables, sections and lists as GitHub's Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.display import Entry, Picture, Section, Table, format_value, printable
from harness.display.text_format import markdown

_LONGEST_CELL = 200
_LONGEST_TEXT = 2000
_LONGEST_COMMAND = 100_000

MarkdownLines = list[str]


def table_markdown(table: Table) -> str:
    """A file of its own: title, table, note."""
    return "\n".join([f"# {prose(table.title)}", "", *_body(table), ""])


def section_lines(section: Section) -> MarkdownLines:
    """A heading of the third level and everything below it, with an empty line after each part."""
    lines = [f"### {prose(section.title)}", ""]
    content = section.content
    for paragraph in content.paragraphs:
        lines += [prose(paragraph), ""]
    if content.items:
        lines += [*[f"- {prose(item)}" for item in content.items], ""]
    for picture in section.pictures:
        lines += _picture(picture)
    for table in content.tables:
        if table.title != section.title:
            lines += [f"**{prose(table.title)}**", ""]
        lines += [*_body(table), ""]
    if content.code:
        commands = [printable(line, _LONGEST_COMMAND) for line in content.code]
        fence = _fence(commands)
        lines += [f"{fence}sh", *commands, fence, ""]
    return lines


def prose(text: str) -> str:
    """A sentence that is nothing but its letters."""
    return markdown(text, _LONGEST_TEXT)


def _body(table: Table) -> MarkdownLines:
    """Words to the left, numbers to the right."""
    rule = ["---" if words else "---:" for words in table.word_columns]
    body = [[_cell(entry) for entry in line] for line in (table.header, *table.rows)]
    note = ["", prose(table.note)] if table.note else []
    return [*(f"| {' | '.join(line)} |" for line in (body[0], rule, *body[1:])), *note]


def _fence(lines: Sequence[str]) -> str:
    """Tildes, more than any line has one after the other: none of them can close it."""
    return "~" * max([3, *(len(tildes) + 1 for line in lines for tildes in re.findall("~+", line))])


def _picture(picture: Picture) -> MarkdownLines:
    return [f"![{prose(picture.alt)}]({picture.path.as_posix()})", "", prose(picture.caption), ""]


def _cell(entry: Entry) -> str:
    """Only words can be taken for markup: numbers are ours."""
    return markdown(entry, _LONGEST_CELL) if isinstance(entry, str) else format_value(entry)
