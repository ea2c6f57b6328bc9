"""The same numbers for a terminal: the answer, the main tables of each chapter, and what to know about them."""

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from harness.display import Entry, Quantity, Section, Table, counted
from harness.report.chapter import Chapter
from harness.report.render.terminal import WIDTH, fits, plain, print_table
from harness.report.sections import ANSWER, NOTES

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
    console.print(plain(f"{chapter.group.title}: {chapter.description}", "dim"), width=width)
    console.print()
    for spec in chapter.specs:
        section = chapter.section(spec.name) if spec.in_terminal else None
        if section is None:
            continue
        _print_words(section, console, width)
        for table in section.content.tables:
            if not table.is_detail:
                print_table(_brief(table, width) if table.is_long else table, console, width)
    notes = chapter.section(NOTES)
    for item in notes.content.items if notes else ():
        console.print(plain(f"! {item}", "yellow"), width=width)
    console.print()


def _print_words(section: Section, console: Console, width: int) -> None:
    """Below the title, or below the answer itself: what follows supports it."""
    content = section.content
    said = [*content.paragraphs, *(f"- {item}" for item in content.items), *content.code]
    if said and section.key != ANSWER:
        said.insert(0, section.title)
    for place, text in enumerate(said):
        console.print(plain(text, "" if place else "bold"), width=width)
    if said:
        console.print()


def _brief(table: Table, width: int) -> Table:
    """The first rows; for runs for which the line is too short the values alone."""
    left = len(table.rows) - _MOST_ROWS
    rows = table.rows[:_MOST_ROWS] if left > 1 else table.rows
    notes = [f"{counted(left, 'more measure')}"] if left > 1 else []
    if not fits(table, width):
        rows = tuple((name, *_means(entries)) for name, *entries in rows)
        notes.append("intervals")
    note = f"{' and '.join(notes)} in the report's files" if notes else table.note
    return replace(table, rows=rows, note=note)


def _means(entries: Sequence[Entry]) -> list[Entry]:
    """Without intervals, and without populations where all are the same and complete."""
    populations = {(one.n, one.of) for one in entries if isinstance(one, Quantity)}
    alike = len(populations) <= 1 and all(n == of for n, of in populations)
    return [_mean(one, alike) if isinstance(one, Quantity) else one for one in entries]


def _mean(quantity: Quantity, alike: bool) -> Quantity:
    shown = replace(quantity, low=None, high=None)
    return replace(shown, n=None, of=None) if alike else shown
