"""What a report is made of, before it is a page, a file or a terminal: the same numbers whoever shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NumberForm = Literal["", "share", "coefficient", "%", "count", "p"]
"""How a number is written: three significant digits; three decimals, for what lies between -1 and 1; two decimals;
in per cent; a whole number; a chance, which is never 0."""


@dataclass(frozen=True)
class Quantity:
    """A number of a table with all that belongs to it; a renderer writes it."""

    value: float | None
    """None: not measured or not applicable; never 0. What is no number, or not finite, is not known either."""
    low: float | None = None
    high: float | None = None
    """Limits of its 95 % interval."""
    n: int | None = None
    """Over how many values it is, where that stands beside it."""
    of: int | None = None
    """How many values there should be; of a count, how many there are in all."""
    unit: NumberForm = ""
    at_least: bool = False
    """It is a lower bound."""
    signed: bool = False
    """A difference: what is above 0 says so."""
    mark: str = ""
    """Behind it, such as `>` for a row that is better."""


@dataclass(frozen=True)
class Rank:
    """The places that a run may have, from 1."""

    best: int
    worst: int

    @property
    def is_tied(self) -> bool:
        """Whether it shares them with others."""
        return self.best != self.worst


@dataclass(frozen=True)
class Several:
    """Numbers that belong together, such as a mean and a maximum."""

    quantities: tuple[Quantity, ...]
    between: str = " / "


Entry = str | Quantity | Rank | Several | None
"""What a table holds in one place: words, or values; None: nothing is known."""


@dataclass(frozen=True)
class Table:
    """Names and values, escaped and formatted for nothing: every renderer does that for itself."""

    name: str
    """A file name without an ending, unique in its chapter."""
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    """As long as the header, each; the first entry says whose row it is."""
    note: str = ""
    """One sentence on how to read it."""
    is_detail: bool = False
    """A terminal does without it."""
    is_long: bool = False
    """A terminal shows its first rows."""
    details: frozenset[str] = frozenset()
    """Columns, by their heading, that a terminal does without."""

    @property
    def word_columns(self) -> tuple[bool, ...]:
        """Which columns hold words; the first always does."""
        columns = range(1, len(self.header))
        return (True, *(any(isinstance(row[at], str) and row[at] for row in self.rows) for at in columns))


@dataclass(frozen=True)
class Drawing:
    """A figure and what is to be said of it; see `Picture`."""

    stem: str
    title: str
    caption: str
    alt: str
    figure: Figure


@dataclass(frozen=True)
class Picture:
    """A figure that was drawn."""

    stem: str
    title: str
    caption: str
    """What it shows, over how many queries, and how to read it."""
    alt: str
    """What it shows in words with its main numbers, for whoever cannot see it."""
    paths: tuple[Path, ...]
    """SVG and PNG, relative to the report."""
    svg: str
    """For the page: text as text, colours as the page's variables, no id that another picture has."""
    width_pt: float
    smallest_letters_pt: float


@dataclass(frozen=True)
class Content:
    """What a section says, without its pictures."""

    paragraphs: Sequence[str] = ()
    items: Sequence[str] = ()
    """A list below them."""
    tables: Sequence[Table] = ()
    code: Sequence[str] = ()
    """Commands, one a line."""


@dataclass(frozen=True)
class Section:
    """One part of a chapter."""

    key: str
    """Its anchor: letters, digits and dashes."""
    title: str
    content: Content = Content()
    pictures: tuple[Picture, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it has nothing to show."""
        shown = self.content
        return not (self.pictures or shown.paragraphs or shown.items or shown.tables or shown.code)
