"""Numbers and names as text. Names come from data sets, models and errors, so they are never trusted."""

import re
import unicodedata

from harness.analysis import Aggregate

NOTHING = "–"  # noqa: RUF001 - an en dash, the sign for "not measured"
LONGEST_NAME = 80
_NUMBER = r"[<≥]? ?[+-]?[0-9][0-9,]*(\.[0-9]+)?(e[+-][0-9]+)?"
_FIGURE = re.compile(
    rf"({_NUMBER}( \[{_NUMBER}, {_NUMBER}\])?( [<>~≠]| [%])?( \(n = {_NUMBER}( of {_NUMBER})?\))?)|{NOTHING}|"
    rf"{_NUMBER}(( of |/| / |-){_NUMBER})+"
)


def printable(text: str, longest: int = LONGEST_NAME) -> str:
    """`text` on one line without control, invisible or direction-changing characters, cut to `longest`."""
    visible = "".join(char if unicodedata.category(char)[0] != "C" else " " for char in text)
    line = " ".join(visible.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def markdown(text: str, longest: int = LONGEST_NAME) -> str:
    """`printable`, with everything escaped that Markdown or HTML would read as more than letters."""
    safe = re.sub(r"([\\`*\[\]<>|~#$])|(?<!\w)_|_(?!\w)", r"\\\g<0>", printable(text, longest))
    safe = safe.replace("&", "&amp;").replace("://", ":\\//").replace("www.", "www\\.")
    return re.sub(r"^([-+=]|\d+(?=[.)]))", r"\\\1" if not safe[:1].isdigit() else r"\1\\", safe)


def csv_name(text: str) -> str:
    """`printable`, and no formula when a spreadsheet opens the file (an apostrophe goes in front)."""
    name = printable(text, 200)
    return f"'{name}" if name.startswith(("=", "+", "-", "@")) else name


def is_figure(cell: str) -> bool:
    """Whether a cell holds only numbers as we write them, such as `-0.060 [-0.125, 0.005] (n = 41 of 50)`: it is
    then neither Markdown nor a formula.
    """
    return _FIGURE.fullmatch(cell) is not None


def file_name(text: str) -> str:
    """A part of a file name: letters, digits, point, dash and underscore only."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip(".") or "unnamed"


def type_name(query_type: str) -> str:
    """A query type without the `_query` that every one of them ends in."""
    return printable(query_type.removesuffix("_query") or query_type, 24)


def ratio(row: Aggregate | None) -> str:
    """`0.770 [0.707, 0.823]`."""
    if row is None or row.mean is None:
        return NOTHING
    if row.ci_low is None or row.ci_high is None:
        return f"{row.mean:.3f}"
    return f"{row.mean:.3f} [{row.ci_low:.3f}, {row.ci_high:.3f}]"


def quantity(row: Aggregate | None) -> str:
    """`3.85 [3.20, 4.41]`: for what is no ratio."""
    if row is None or row.mean is None or row.ci_low is None or row.ci_high is None:
        return number(value_of(row))
    return f"{number(row.mean)} [{number(row.ci_low)}, {number(row.ci_high)}]"


def percent(row: Aggregate | None, *, interval: bool = False) -> str:
    """`77.0`, or `77.0 [70.7, 82.3]`."""
    if row is None or row.mean is None:
        return NOTHING
    if not interval or row.ci_low is None or row.ci_high is None:
        return f"{100 * row.mean:.1f}"
    return f"{100 * row.mean:.1f} [{100 * row.ci_low:.1f}, {100 * row.ci_high:.1f}]"


def number(value: float | None) -> str:
    """Whole numbers with thousands separated (`2,208`), others to three digits (`3.85`, `0.00124`, `1.2e-05`)."""
    if value is None:
        return NOTHING
    if value == round(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:#.3g}".removesuffix(".") if abs(value) >= 0.0001 else f"{value:.1e}"


def gigabytes(value: float | None) -> str:
    """Bytes as 10^9 bytes, three significant digits."""
    return number(None if value is None else value / 1e9)


def population(row: Aggregate | None) -> str:
    """How many values the mean is over: `200`, or `170 of 200` where scores are missing."""
    if row is None:
        return "0"
    n_values = row.n_scored + row.n_imputed
    return f"{n_values:,} of {row.n_expected:,}" if row.n_failed else f"{n_values:,}"


def value_of(row: Aggregate | None) -> float | None:
    """The mean, or None where there is no row."""
    return row.mean if row else None


def counted(n: int, noun: str, plural: str = "") -> str:
    """`1 query`, `3 queries`."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"
