"""The parts of a report as values, independent of the output (page, file, terminal)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NumberForm = Literal["", "share", "coefficient", "%", "count", "p", "two", "± %", "±", "points"]
"""Format of a number: "" three significant digits; share: three decimals, for values between -1 and 1;
coefficient: two decimals; % in per cent; count: a whole number; p: a p value, never shown as 0; two: two
significant digits; ± % and ±: a share and another mean with half the width of its interval; points: a
difference of shares in points.
"""


@dataclass(frozen=True)
class Quantity:
    value: float | None
    """None: not measured or not applicable, never 0. Non-finite values are treated the same."""
    low: float | None = None
    high: float | None = None
    """Limits of the 95 % interval."""
    n: int | None = None
    of: int | None = None
    """Number of values there should be; for a count, the total."""
    unit: NumberForm = ""
    at_least: bool = False
    signed: bool = False
    """Whether it is a difference, shown with a plus sign if positive."""
    mark: str = ""
    """Shown after the number, such as `>` for a better row."""


@dataclass(frozen=True)
class ValueGroup:
    """Related numbers in one cell, such as a mean and a maximum."""

    quantities: tuple[Quantity, ...]
    between: str = " / "


Entry = str | Quantity | ValueGroup | None
"""The content of a table cell: text or values; None: unknown."""


@dataclass(frozen=True)
class Table:
    """A table of unescaped, unformatted values; each renderer escapes and formats them."""

    name: str
    """File name without extension, unique in its chapter."""
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    """Each row is as long as the header; its first entry names the row."""
    note: str = ""
    """One sentence on how to read the table."""
    is_detail: bool = False
    """Not shown in a terminal."""
    is_long: bool = False
    """A terminal shows only the first rows."""
    details: frozenset[str] = frozenset()
    """Headings of columns that are not shown in a terminal."""

    @property
    def word_columns(self) -> tuple[bool, ...]:
        """Which columns contain text; the first always does."""
        columns = range(1, len(self.header))
        return (True, *(any(isinstance(row[at], str) and row[at] for row in self.rows) for at in columns))


@dataclass(frozen=True)
class Drawing:
    """A figure before it is written, with its texts; `Picture` explains them."""

    stem: str
    title: str
    caption: str
    alt: str
    figure: Figure


@dataclass(frozen=True)
class Picture:
    """A figure that was written to files."""

    stem: str
    title: str
    caption: str
    """What the figure shows, over how many queries, and how to read it."""
    alt: str
    """Description with the main numbers, for readers who cannot see the figure."""
    path: Path
    """The SVG file, relative to the report."""
    svg: str
    """For the page: text as text, colours as variables of the page, ids unique on the page."""
    width_pt: float
    smallest_letters_pt: float


@dataclass(frozen=True)
class Content:
    """The content of a section, without pictures."""

    paragraphs: Sequence[str] = ()
    items: Sequence[str] = ()
    """A list, shown below the paragraphs."""
    tables: Sequence[Table] = ()
    code: Sequence[str] = ()
    """Commands, one per line."""


@dataclass(frozen=True)
class Section:
    key: str
    """Anchor of the section: letters, digits and dashes."""
    title: str
    content: Content = Content()
    pictures: tuple[Picture, ...] = ()

    @property
    def is_empty(self) -> bool:
        shown = self.content
        return not (self.pictures or shown.paragraphs or shown.items or shown.tables or shown.code)
