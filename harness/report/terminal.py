"""The same numbers for a terminal: the answer, the main tables of each chapter, and what to know about them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from harness.report.chapter import Chapter
from harness.report.nouns import Section, Table
from harness.report.render.terminal import WIDTH, fits, print_table
from harness.report.text import counted

_SHOWN = (
    *("answer", "accuracy", "refusals", "retrieval", "bertscore", "judged", "graph-scores", "other"),
    *("tokens", "index", "sweep"),
)
_LEFT_TO_FILES = ("coverage-", "tokens_by_phase", "index_ledger")
"""How names of tables begin that a terminal does without."""
_MEASURES = "measures-"
_INTERVAL = re.compile(r" \[[^\]]*\]")
_POPULATION = re.compile(r" \(n = [^)]*\)")
_MOST_ROWS = 9
"""Of an evaluator's measures, which begin with the main ones."""


def render_terminal(chapters: Sequence[Chapter], console: Console) -> None:
    """Print the answer and the main tables of each chapter; never wider than the console or 100 columns. They are
    the tables of the report's files.
    """
    if not chapters:
        console.print(Text("No runs to report on."))
    for chapter in chapters:
        _print_chapter(chapter, console, min(console.width, WIDTH))
    if len(chapters) > 1:
        console.print(Text("Different queries or documents: do not compare across these tables.", style="yellow"))


def _print_chapter(chapter: Chapter, console: Console, width: int) -> None:
    console.print(Text(f"{chapter.group.title}: {chapter.description}", style="dim"), width=width)
    console.print()
    for key in _SHOWN:
        section = chapter.section(key)
        if section is None:
            continue
        _print_paragraphs(section, console, width)
        for table in _main(section, width):
            print_table(table, console, width)
    notes = chapter.section("notes")
    for item in notes.items if notes else ():
        console.print(Text(f"! {item}", style="yellow"), width=width)
    console.print()


def _print_paragraphs(section: Section, console: Console, width: int) -> None:
    """The first is the answer, what follows supports it."""
    for place, paragraph in enumerate(section.paragraphs):
        console.print(Text(paragraph, style="" if place else "bold"), width=width)
    if section.paragraphs:
        console.print()


def _main(section: Section, width: int) -> Iterator[Table]:
    for table in section.tables:
        if table.name.startswith(_MEASURES):
            yield _brief(table, width)
        elif not table.name.startswith(_LEFT_TO_FILES):
            yield table


def _brief(table: Table, width: int) -> Table:
    """The main measures of an evaluator; of runs for which the line is too short the means alone."""
    left = len(table.rows) - _MOST_ROWS
    rows = table.rows[:_MOST_ROWS] if left > 1 else table.rows
    notes = [f"{counted(left, 'more measure')}"] if left > 1 else []
    if not fits(table, width):
        rows = tuple((name, *_means(cells)) for name, *cells in rows)
        notes.append("intervals")
    note = f"{' and '.join(notes)} in the report's files" if notes else table.note
    return replace(table, rows=rows, note=note)


def _means(cells: Sequence[str]) -> list[str]:
    """Without intervals, and without populations where all are the same and complete."""
    populations = {found[0] for cell in cells if (found := _POPULATION.search(cell))}
    without = [_INTERVAL.sub("", cell) for cell in cells]
    if len(populations) > 1 or any(" of " in one for one in populations):
        return without
    return [_POPULATION.sub("", cell) for cell in without]
