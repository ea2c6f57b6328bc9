"""The verdict for a terminal: at most 30 lines for one data set; with `full` also the tables and notes."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from harness.display import Entry, Quantity, Section, Table, counted
from harness.report.chapter import Chapter
from harness.report.leaderboard import leaderboard
from harness.report.render.terminal import WIDTH, fits, plain, print_notes, print_table
from harness.report.sections import ANSWER, BESIDE, NOTES
from harness.report.verdict.sentences import size_of
from harness.report.verdict.types import RIVALS
from harness.store import name_for

BRIEF_WIDTH = 80
_LEGEND = "± and [ ]: 95 % intervals. Seconds: median of a question; tokens: mean."
_MOST_SYSTEMS = 8
_MOST_ROWS = 9
"""Of an evaluator's metrics, which begin with the main ones."""


def render_terminal(
    chapters: Sequence[Chapter],
    console: Console,
    *,
    full: bool = False,
    page: Path | None = None,
    then: bool = True,
) -> None:
    """Print the verdict of each data set: what to do, the leaderboard, the most harmful notes, the path of the
    page and the next command. `full`: all tables and notes as well, up to 100 columns wide. `then`: whether the
    next command is printed.
    """
    if not chapters:
        console.print(Text("No runs to report on."))
    known: set[str] = set()
    for chapter in chapters:
        _print_verdict(chapter, console, min(console.width, BRIEF_WIDTH), known, full=full)
        known.update(chapter.findings.verdict.caveats)
        keys = [spec.name for spec in chapter.specs if spec.in_terminal] if full else [BESIDE]
        _print_sections(chapter, console, min(console.width, WIDTH), keys)
    if len(chapters) > 1:
        console.print(Text("Different queries or documents: do not compare across data sets.", style="yellow"))
    if page is not None:
        console.print(f"report: {page}", soft_wrap=True)
    if then:
        _print_next(chapters, console)


def _print_verdict(chapter: Chapter, console: Console, width: int, known: set[str], *, full: bool) -> None:
    """`known`: notes of earlier chapters, which are not repeated."""
    verdict = chapter.findings.verdict
    console.print(plain(f"{verdict.dataset}: {size_of(verdict)}", "dim"), width=width)
    console.print(plain(verdict.headline, "bold"), width=width)
    for sentence in verdict.sentences:
        console.print(plain(sentence), width=width)
    console.print()
    table = _narrowed(leaderboard(verdict, brief=True), width)
    left = len(table.rows) - _MOST_SYSTEMS
    shown = table.rows[:_MOST_SYSTEMS] if left > 1 and not full else table.rows
    if shown:
        print_table(replace(table, rows=shown, note=_LEGEND), console, width, titled=False)
    left_out = [counted(left, "more system")] if len(shown) < len(table.rows) else []
    notes = [note for note in verdict.caveats if note not in known]
    print_notes(notes, console, width, full=full, left_out=left_out)


def _narrowed(table: Table, width: int) -> Table:
    """As many of the first columns as fit beside each other."""
    while len(table.header) > 1 and not fits(table, width):
        table = replace(table, header=table.header[:-1], rows=tuple(row[:-1] for row in table.rows))
    return table


def _print_next(chapters: Sequence[Chapter], console: Console) -> None:
    for chapter in chapters[:1]:
        runs = {view.run.run_id: view.run for view in chapter.group.views}
        ranked = {"recommended", *RIVALS}
        names = [name_for(runs[one.run_id]) for one in chapter.findings.verdict.standings if one.status in ranked]
        if names:
            command = f"compare {' '.join(names[:2])}" if len(names) > 1 else f"show {names[0]}"
            console.print(plain(f"next: rag-harness {command}"), soft_wrap=True)


def _print_sections(chapter: Chapter, console: Console, width: int, keys: Sequence[str]) -> None:
    for key in keys:
        section = chapter.section(key)
        if section is None or key in {ANSWER, NOTES}:
            continue
        _print_words(section, console, width)
        for table in section.content.tables:
            if not table.is_detail:
                print_table(_brief(table, width) if table.is_long else table, console, width)


def _print_words(section: Section, console: Console, width: int) -> None:
    content = section.content
    said = [*content.paragraphs, *(f"- {item}" for item in content.items), *content.code]
    for place, text in enumerate([section.title, *said] if said else []):
        console.print(plain(text, "" if place else "bold"), width=width)
    if said:
        console.print()


def _brief(table: Table, width: int) -> Table:
    """The first rows; without intervals if the lines would be too long."""
    left = len(table.rows) - _MOST_ROWS
    rows = table.rows[:_MOST_ROWS] if left > 1 else table.rows
    notes = [f"{counted(left, 'more metric')}"] if left > 1 else []
    if not fits(table, width):
        rows = tuple((name, *_means(entries)) for name, *entries in rows)
        notes.append("intervals")
    note = f"{' and '.join(notes)} in the report's files" if notes else table.note
    return replace(table, rows=rows, note=note)


def _means(entries: Sequence[Entry]) -> list[Entry]:
    """Without intervals, and without counts if all are the same and complete."""
    populations = {(one.n, one.of) for one in entries if isinstance(one, Quantity)}
    alike = len(populations) <= 1 and all(n == of for n, of in populations)
    return [_mean(one, alike) if isinstance(one, Quantity) else one for one in entries]


def _mean(quantity: Quantity, alike: bool) -> Quantity:
    shown = replace(quantity, low=None, high=None)
    return replace(shown, n=None, of=None) if alike else shown
