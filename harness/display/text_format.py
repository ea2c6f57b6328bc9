"""Numbers and names as text, and a console that escapes what it prints.

Names come from data sets, models and errors, so they are untrusted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import floor, isfinite, log10
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from harness.core.sanitize import is_hidden, visible
from harness.display.csv_sheets import write_cell

NOTHING = "–"  # noqa: RUF001 - an en dash, the sign for "not measured"
LONGEST_NAME = 80


def printable(text: str, longest: int = LONGEST_NAME) -> str:
    """`text` on one line without control, invisible or direction-changing characters, cut to `longest`."""
    visible = "".join(" " if is_hidden(char) else char for char in text)
    line = " ".join(visible.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def markdown(text: str, longest: int = LONGEST_NAME) -> str:
    """`printable`, with all special characters of Markdown and HTML escaped."""
    safe = re.sub(r"([\\`*\[\]<>|~#$])|(?<!\w)_|_(?!\w)", r"\\\g<0>", printable(text, longest))
    safe = safe.replace("&", "&amp;").replace("://", ":\\//").replace("www.", "www\\.")
    return re.sub(r"^([-+=]|\d+(?=[.)]))", r"\\\1" if not safe[:1].isdigit() else r"\1\\", safe)


def csv_name(text: str) -> str:
    """`printable`, with an apostrophe where a spreadsheet may see a formula: at the start and after semicolons."""
    return ";".join(map(write_cell, printable(text, 200).split(";")))


def file_name(text: str) -> str:
    """The text as part of a file name: only letters, digits, point, dash and underscore."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip(".") or "unnamed"


def type_name(query_type: str) -> str:
    """A query type without the suffix `_query`."""
    return printable(query_type.removesuffix("_query") or query_type, 24)


def number(value: float | None) -> str:
    """Whole numbers with thousands separators (`2,208`), others with three digits (`3.85`, `0.00124`, `1.2e-05`).
    Zero has no sign; None and non-finite numbers are shown as a dash.
    """
    if value is None or not isfinite(value):
        return NOTHING
    if value == round(value) or abs(value) >= 100:
        return f"{value + 0.0:,.0f}"
    return f"{value:#.3g}".removesuffix(".") if abs(value) >= 0.0001 else f"{value:.1e}"


def short_number(value: float) -> str:
    """Two significant digits: `0.53`, `7.4`, `12`, `1,200`."""
    if not value or not isfinite(value):
        return "0" if not value else NOTHING
    digits = 1 - floor(log10(abs(value)))
    shown = round(value, digits)
    return f"{shown:,.0f}" if digits <= 0 or shown == round(shown) else f"{shown:,.{digits}f}"


def short_seconds(value: float) -> str:
    """Two significant digits: `26 s`, `0.53 s`, and below a tenth of a second `16 ms`."""
    return f"{short_number(1000 * value)} ms" if 0 < abs(value) < 0.1 else f"{short_number(value)} s"


def duration(seconds: float) -> str:
    """`40 s`, `3 min`, `2 h 10 min`, `3 h`."""
    if round(seconds) < 60:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"


def counted(n: int, noun: str, plural: str = "") -> str:
    """`1 query`, `3 queries`."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def fits_in_words(line: str, width: int) -> bool:
    """Whether a text is one line that can be wrapped at its words without splitting what is copied."""
    return "\n" not in line and "rag-harness " not in line and all(len(word) <= width for word in line.split())


class SafeConsole(Console):
    """Shows control characters in texts as escapes, in lines, tables and progress bars; its own styles and cursor
    movements still work. Texts are not interpreted as markup.
    """

    def __init__(self, **wishes: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **wishes)

    def print(self, *objects: Any, soft_wrap: bool | None = None, **wishes: Any) -> None:
        """Print as `rich.console.Console.print`. With `soft_wrap`, a line stays one line in a file or pipe, and is
        wrapped at words on a terminal, unless it has a command or a long path, which must be copied whole.
        """
        if soft_wrap and self.is_terminal and len(objects) == 1:
            soft_wrap = not fits_in_words(str(objects[0]), self.width)
        super().print(*objects, soft_wrap=soft_wrap, **wishes)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            shown = segment.text if segment.control else visible(segment.text)
            yield segment if shown == segment.text else Segment(shown, segment.style)
