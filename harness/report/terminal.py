"""Tables for a terminal, never wider than it: columns that do not fit go below. And the verdict: at most 30 lines
for one data set; with `full` also the tables and notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from harness.display import Entry, Quantity, Table, counted, format_value, printable
from harness.report.chapter import Chapter, what_differs
from harness.report.leaderboard import leaderboard
from harness.report.notes import weakens_nothing
from harness.report.sections import ANSWER, BESIDE, NOTES
from harness.report.verdict.headline import size_of
from harness.report.verdict.types import RIVALS
from harness.store import RunDir, name_for
from harness.store.run_lookup import with_typed_names

WIDTH = 100
_GAP = 2
_FEWEST, _LONGEST_WORD = 8, 16
"""Characters that a column of words has, if there are so many; up to 16 so that no word is broken."""
_LONGEST_CELL, _LONGEST_TEXT = 200, 4000
_LONGEST_NOTE = 148
BRIEF_WIDTH = 80
_INTERVALS = "± and [ ]: 95 % intervals"
_LEGEND = {"seconds": "seconds: median of a question", "tokens": "tokens: mean of a question"}
"""Of the columns whose titles leave a question."""
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
    known: Iterable[str] = (),
) -> None:
    """Print the verdict of each data set: what to do, the leaderboard, the most harmful notes, the page's path
    and, with `then`, the next command. `full`: all tables and notes as well, up to 100 columns wide. `known`:
    notes not to print again.
    """
    if not chapters:
        console.print(Text("No runs to report on."))
    known = {*known}
    for chapter in chapters:
        _print_verdict(chapter, console, min(console.width, BRIEF_WIDTH), known, full=full)
        known.update(chapter.findings.verdict.caveats)
        keys = [spec.name for spec in chapter.specs if spec.in_terminal] if full else [BESIDE]
        _print_sections(chapter, console, min(console.width, WIDTH), keys)
    if len(chapters) > 1:
        said = f"Do not compare these results with each other: {what_differs(chapters)}."
        console.print(plain(said, "yellow"))
    if page is not None:
        console.print(f"report: {page}", soft_wrap=True)
    for chapter in chapters[:1] if then else ():
        runs = {view.run.run_id: view.run for view in chapter.group.views}
        ranked = [one for one in chapter.findings.verdict.standings if one.status in {"recommended", *RIVALS}]
        names = [name_for(runs[one.run_id]) for one in ranked]
        if names:
            command = f"compare {' '.join(names[:2])}" if len(names) > 1 else f"show {names[0]}"
            console.print(plain(f"next: rag-harness {command}"), soft_wrap=True)


def _print_verdict(chapter: Chapter, console: Console, width: int, known: set[str], *, full: bool) -> None:
    """`known`: notes of earlier chapters, which are not repeated."""
    verdict = chapter.findings.verdict
    console.print(plain(f"{verdict.dataset}: {size_of(verdict)}", "dim"), width=width)
    runs = [view.run for view in chapter.group.views]
    for sentence in (verdict.headline, *verdict.sentences):
        style = "bold" if sentence is verdict.headline else ""
        said, command = _command_apart(with_typed_names(sentence, runs), width)
        console.print(plain(said, style), width=width)
        if command:
            console.print(plain(command, style), soft_wrap=True)
    console.print()
    table = leaderboard(verdict, brief=True)
    # As many of the first columns as fit beside each other.
    while len(table.header) > 1 and not fits(table, width):
        table = replace(table, header=table.header[:-1], rows=tuple(row[:-1] for row in table.rows))
    left = len(table.rows) - _MOST_SYSTEMS
    shown = table.rows[:_MOST_SYSTEMS] if left > 1 and not full else table.rows
    if shown:
        legend = "; ".join([_INTERVALS, *(_LEGEND[title] for title in table.header if title in _LEGEND)])
        print_table(replace(table, rows=shown, note=f"{legend}."), console, width, titled=False)
    left_out = [counted(left, "more system")] if len(shown) < len(table.rows) else []
    notes = [note for note in verdict.caveats if not note.endswith(tuple(known))]
    print_notes(notes, console, width, full=full, left_out=left_out, runs=runs)


def _print_sections(chapter: Chapter, console: Console, width: int, keys: Sequence[str]) -> None:
    for section in filter(None, map(chapter.section, keys)):
        if section.key in {ANSWER, NOTES}:
            continue
        content = section.content
        said = [*content.paragraphs, *(f"- {item}" for item in content.items), *content.code]
        if said:
            console.print(plain(section.title, "bold"), width=width)
            for text in said:
                console.print(plain(text), width=width)
            console.print()
        for table in content.tables:
            if not table.is_detail:
                print_table(_brief(table, width) if table.is_long else table, console, width)


def _brief(table: Table, width: int) -> Table:
    """The first rows; without intervals if the lines would be too long."""
    left = len(table.rows) - _MOST_ROWS
    rows = table.rows[:_MOST_ROWS] if left > 1 else table.rows
    notes = [f"{counted(left, 'more metric')}"] if left > 1 else []
    if not fits(table, width):
        rows = tuple((name, *_without_intervals(entries)) for name, *entries in rows)
        notes.append("intervals")
    note = f"{' and '.join(notes)} in the report's files" if notes else table.note
    return replace(table, rows=rows, note=note)


def _without_intervals(entries: Sequence[Entry]) -> list[Entry]:
    """And without counts if all are the same and complete."""
    populations = {(one.n, one.of) for one in entries if isinstance(one, Quantity)}
    alike = len(populations) <= 1 and all(n == of for n, of in populations)
    means = [replace(one, low=None, high=None) if isinstance(one, Quantity) else one for one in entries]
    return [replace(one, n=None, of=None) if alike and isinstance(one, Quantity) else one for one in means]


def print_table(table: Table, console: Console, width: int, *, titled: bool = True) -> None:
    """Title, table and note, without the columns that are details; nothing in them is read as markup."""
    if titled:
        console.print(plain(table.title, "bold"), width=width)
    grid = _Grid.of(table)
    for columns in grid.blocks(width):
        console.print(grid.block(columns, width), width=width)
    if table.note:
        console.print(plain(table.note, "dim"), width=width)
    console.print()


def plain(text: str, style: str = "") -> Text:
    """Text without markup and without terminal control characters."""
    return Text(printable(text, _LONGEST_TEXT), style=style)


def print_notes(
    notes: Sequence[str],
    console: Console,
    width: int,
    *,
    full: bool,
    left_out: Sequence[str] = (),
    runs: Sequence[RunDir] = (),
) -> None:
    """The first notes that weaken a number, cut to two lines; `full`: all. `runs`: those that commands name."""
    notes = [with_typed_names(note, runs) for note in notes]
    shown = notes if full else [_cut(note) for note in notes if not weakens_nothing(note)][:3]
    for note in shown:
        said, command = _command_apart(note, width - _GAP)
        lines = plain(said, "yellow").wrap(console, max(_FEWEST, width - _GAP))
        for place, line in enumerate([*lines, *([plain(command, "yellow")] if command else [])]):
            line.rstrip()
            console.print(Text.assemble(("  " if place else "! ", "yellow"), line), soft_wrap=True)
    hidden = len(notes) - len(shown)
    more = [*left_out, *([counted(hidden, "more note")] if hidden else [])]
    if more:
        console.print(plain(f"{' and '.join(more)}: --full", "dim"), width=width)


def _command_apart(text: str, width: int) -> tuple[str, str]:
    """A sentence that is too long for a line, and the command at its end, which stays whole, to be copied."""
    words, command, rest = text.partition(" rag-harness ")
    if len(text) <= width or not words.endswith(":"):
        return text, ""
    return words, f"{command}{rest}".strip()


def _cut(note: str) -> str:
    """A note of about two lines. Its last sentence, which holds the remedy, stays whole."""
    said, stop, remedy = note.rpartition(". ")
    if not stop or len(note) <= _LONGEST_NOTE:
        return printable(note, _LONGEST_NOTE)
    # At least 60 characters of the sentences before a long last one are kept.
    return f"{printable(f'{said}.', max(60, _LONGEST_NOTE - len(remedy) - 1))} {remedy}"


def fits(table: Table, width: int) -> bool:
    return len(_Grid.of(table).blocks(width)) == 1


@dataclass(frozen=True)
class _Grid:
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: frozenset[int]
    """Columns of words; the others are numbers, to the right."""

    @classmethod
    def of(cls, table: Table) -> _Grid:
        kept = [place for place, name in enumerate(table.header) if name not in table.details]
        return cls(
            tuple(_cell(table.header[place]) for place in kept),
            tuple(tuple(_cell(row[place]) for place in kept) for row in table.rows),
            frozenset(number for number, place in enumerate(kept) if table.word_columns[place]),
        )

    def blocks(self, width: int) -> list[list[int]]:
        """Groups of columns that fit side by side, each with the first column."""
        room = width - self._least(0, width)
        blocks, left = [[0]], room
        for place in range(1, len(self.header)):
            needed = self._least(place, width) + _GAP
            if needed > left and len(blocks[-1]) > 1:
                blocks.append([0])
                left = room
            blocks[-1].append(place)
            left -= needed
        return blocks

    def block(self, columns: Sequence[int], width: int) -> RichTable:
        shown = RichTable(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
        for place, wide in zip(columns, self._widths(columns, width), strict=True):
            side: Literal["left", "right"] = "left" if place in self.words else "right"
            shown.add_column(Text(self.header[place]), justify=side, overflow="fold", width=wide)
        for row in self.rows:
            shown.add_row(*[Text(row[place]) for place in columns])
        return shown

    def _widths(self, columns: Sequence[int], width: int) -> list[int]:
        """The least width of each column; the rest of the line goes, a character at a time, to those that wrap."""
        widths = [self._least(place, width) for place in columns]
        wanted = [self._longest(place) for place in columns]
        left = width - sum(widths) - _GAP * (len(columns) - 1)
        while left > 0 and any(have < want for have, want in zip(widths, wanted, strict=True)):
            narrowest = min(
                (place for place in range(len(columns)) if widths[place] < wanted[place]),
                key=lambda at: widths[at],
            )
            widths[narrowest] += 1
            left -= 1
        return widths

    def _least(self, place: int, width: int) -> int:
        """Numbers are not broken. Headings and words wrap, and long words are folded."""
        heading = max(map(cell_len, self.header[place].split()), default=1)
        if place == 0:
            return max(1, min(self._longest(0), int(width * 0.4)))
        if place in self.words:
            word = max((cell_len(word) for row in self.rows for word in row[place].split()), default=1)
            return min(self._longest(place), max(_FEWEST, heading, min(word, _LONGEST_WORD)))
        # The first column and one other always fit.
        room = width - self._least(0, width) - _GAP
        return max(1, min(room, max([heading, *(cell_len(row[place]) for row in self.rows)])))

    def _longest(self, place: int) -> int:
        return max(1, *(cell_len(line[place]) for line in (self.header, *self.rows)))


def _cell(entry: Entry) -> str:
    return printable(entry, _LONGEST_CELL) if isinstance(entry, str) else format_value(entry)
