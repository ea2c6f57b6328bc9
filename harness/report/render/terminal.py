"""Tables for a terminal: no wider than it, whatever they hold; columns for which there is no room go below."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from harness.report.nouns import Table

WIDTH = 100
_GAP = 2
_FIRST_SHARE = 0.4
"""Part of the width that the first column takes at most."""
_FEWEST = 8
"""Characters that a column of words has, if there are so many."""


def print_table(table: Table, console: Console, width: int, *, titled: bool = True) -> None:
    """Title, table and note; nothing in them is read as markup."""
    if titled:
        console.print(Text(table.title, style="bold"), width=width)
    for columns in _blocks(table, width):
        console.print(_block(table, columns, width), width=width)
    if table.note:
        console.print(Text(table.note, style="dim"), width=width)
    console.print()


def fits(table: Table, width: int) -> bool:
    """Whether all columns stand beside each other."""
    return len(_blocks(table, width)) == 1


def _blocks(table: Table, width: int) -> list[list[int]]:
    """Which columns stand beside each other, the first in every block."""
    room = width - _least(table, 0, width)
    blocks, left = [[0]], room
    for place in range(1, len(table.header)):
        needed = _least(table, place, width) + _GAP
        if needed > left and len(blocks[-1]) > 1:
            blocks.append([0])
            left = room
        blocks[-1].append(place)
        left -= needed
    return blocks


def _block(table: Table, columns: Sequence[int], width: int) -> RichTable:
    shown = RichTable(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
    for place, wide in zip(columns, _widths(table, columns, width), strict=True):
        right = place > 0 and not table.words
        shown.add_column(
            Text(table.header[place]), justify="right" if right else "left", overflow="fold", width=wide
        )
    for row in table.rows:
        shown.add_row(*[Text(row[place]) for place in columns])
    return shown


def _widths(table: Table, columns: Sequence[int], width: int) -> list[int]:
    """What each column needs at least; what is left of the line goes to those that wrap, a character at a time."""
    widths = [_least(table, place, width) for place in columns]
    wanted = [_longest(table, place) for place in columns]
    left = width - sum(widths) - _GAP * (len(columns) - 1)
    while left > 0 and any(have < want for have, want in zip(widths, wanted, strict=True)):
        narrowest = min(
            (place for place in range(len(columns)) if widths[place] < wanted[place]), key=lambda at: widths[at]
        )
        widths[narrowest] += 1
        left -= 1
    return widths


def _least(table: Table, place: int, width: int) -> int:
    """Numbers stand on one line, and a heading wraps between words; so do words, of which long ones are folded."""
    heading = max(map(cell_len, table.header[place].split()), default=1)
    if place == 0:
        return max(1, min(_longest(table, 0), int(width * _FIRST_SHARE)))
    if table.words:
        return min(_longest(table, place), max(_FEWEST, heading))
    # However narrow the console, a first column and one more stand on it.
    room = width - _least(table, 0, width) - _GAP
    return max(1, min(room, max([heading, *(cell_len(row[place]) for row in table.rows)])))


def _longest(table: Table, place: int) -> int:
    return max(1, *(cell_len(line[place]) for line in (table.header, *table.rows)))
