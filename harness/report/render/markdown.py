"""GitHub's Markdown: tables, sections, and the whole report as summary.md."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.display import Entry, Section, Table, counted, format_value, printable
from harness.display.text_format import markdown
from harness.report.chapter import Chapter

_LONGEST_CELL = 200
_LONGEST_TEXT = 2000
_LONGEST_COMMAND = 100_000
_FILES = """\
Every number, with counts and intervals, is in `summary.csv`; `tables/` holds every table as CSV,
Markdown and LaTeX. report.html explains the terms.
"""

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
        lines += [f"![{prose(picture.alt)}]({picture.path.as_posix()})", "", prose(picture.caption), ""]
    for table in content.tables:
        if table.title != section.title:
            lines += [f"**{prose(table.title)}**", ""]
        lines += [*_body(table), ""]
    if content.code:
        commands = [printable(line, _LONGEST_COMMAND) for line in content.code]
        # Tildes, more than any line has one after the other: none of them can close it.
        tildes = [len(found) + 1 for line in commands for found in re.findall("~+", line)]
        fence = "~" * max([3, *tildes])
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


def _cell(entry: Entry) -> str:
    """Only words can be taken for markup: numbers are ours."""
    return markdown(entry, _LONGEST_CELL) if isinstance(entry, str) else format_value(entry)


def summary_markdown(chapters: Sequence[Chapter]) -> str:
    """The whole text. Names and messages in it are escaped."""
    n_runs = sum(len(chapter.group.views) for chapter in chapters)
    lines = ["# RAG benchmark report", ""]
    if not chapters:
        lines += ["There are no runs to report on. Run: `rag-harness run`", ""]
    else:
        lines += [f"{counted(n_runs, 'run')} over {counted(len(chapters), 'data set selection')}.", ""]
    if len(chapters) > 1:
        lines += [
            "**Not comparable across sections:** the runs were made over different queries or documents, or some "
            "of them without a generator, so each selection has its own tables and figures.",
            "",
        ]
    for chapter in chapters:
        lines += [f"## {prose(chapter.group.title)}", "", prose(chapter.description), ""]
        for section in chapter.sections:
            lines += section_lines(section)
    return "\n".join([*lines, _FILES, *_measures(chapters)])


def _measures(chapters: Sequence[Chapter]) -> MarkdownLines:
    """What each measure is, in the words of its evaluator."""
    said = {
        name: chapter.group.known[name]
        for chapter in chapters
        for name in chapter.group.measures
        if name in chapter.group.known
    }
    if not said:
        return []
    way = {True: "higher is better", False: "lower is better"}
    shown = [
        f"- **{prose(name)}**: {prose(measure.summary)}; {way[measure.higher_is_better]}."
        for name, measure in said.items()
    ]
    return ["## Metrics", "", *shown, ""]
