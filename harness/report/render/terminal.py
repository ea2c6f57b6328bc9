"""Tables for a terminal, never wider than it: columns that do not fit go below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from harness.display import Entry, Table, counted, format_value, printable

WIDTH = 100
_GAP = 2
_FIRST_SHARE = 0.4
"""Maximum share of the width for the first column."""
_FEWEST, _LONGEST_WORD = 8, 16
"""Characters that a column of words has, if there are so many; up to 16 so that no word is broken."""
_LONGEST_CELL, _LONGEST_TEXT = 200, 4000
_MOST_NOTES = 3
_LONGEST_NOTE = 156
"""Two lines."""
_LEAST_OF_NOTE = 60
"""Of the sentences before a long last one."""


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
    notes: Sequence[str], console: Console, width: int, *, full: bool, left_out: Sequence[str] = ()
) -> None:
    """The first notes, about two lines each, and what `--full` shows besides; `full`: all of them in full."""
    shown = notes if full else list(map(_cut, notes[:_MOST_NOTES]))
    for note in shown:
        console.print(plain(f"! {note}", "yellow"), width=width)
    hidden = len(notes) - len(shown)
    more = [*left_out, *([counted(hidden, "more note")] if hidden else [])]
    if more:
        console.print(plain(f"{' and '.join(more)}: --full", "dim"), width=width)


def _cut(note: str) -> str:
    """A note of about two lines. Its last sentence, which holds the remedy, stays whole."""
    said, stop, remedy = note.rpartition(". ")
    if not stop or len(note) <= _LONGEST_NOTE:
        return printable(note, _LONGEST_NOTE)
    return f"{printable(said, max(_LEAST_OF_NOTE, _LONGEST_NOTE - len(remedy) - 1))} {remedy}"


def fits(table: Table, width: int) -> bool:
    """Whether all columns fit side by side."""
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
        """The minimum width of each column; the rest of the line goes, a character at a time, to those
        that wrap.
        """
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
            return max(1, min(self._longest(0), int(width * _FIRST_SHARE)))
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
