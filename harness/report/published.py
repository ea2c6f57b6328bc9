"""Values that papers published, read from a CSV file, and the same values of runs beside them.

Columns: `item` (such as `table-5.2`), `page`, `row` and `column` of the value, `value`; where a metric here has
the same meaning also `measure`, `query_type` (empty: all queries; `balanced`: the mean over query types), `system`
and `parameters` (`answer.mode=global`) of the runs that it stands beside. Rows with the item `source` or
`condition` say where the values come from and under which conditions.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from harness.config.shipped_files import shipped_configs
from harness.config.yaml_limits import flatten
from harness.core.bounded_files import read_plain
from harness.core.errors import ConfigError, nearest
from harness.display import Content, Entry, Quantity, Table, printable
from harness.display.text_format import type_name
from harness.report.quantities import amount
from harness.report.view import Group, RunView
from harness.statistics import OVERALL

BALANCED = "balanced"
_MOST_BYTES = 1 << 20
_COLUMNS = ("item", "page", "row", "column", "value", "measure", "query_type", "system", "parameters")


@dataclass(frozen=True)
class PublishedValue:
    """A number of a table or figure; shares as shares, not in per cent."""

    item: str
    page: str
    row: str
    column: str
    value: float
    measure: str = ""
    """The metric here that it is comparable with; empty: none."""
    query_type: str = ""
    system: str = ""
    parameters: Mapping[str, str] | None = None

    def matches(self, view: RunView) -> bool:
        """Whether a run has the system and the parameters."""
        identity = view.manifest.identity.get("system", {})
        own = flatten(identity) if isinstance(identity, dict) else {}
        wanted = self.parameters or {}
        return own.get("name") == self.system and all(str(own.get(key)) == value for key, value in wanted.items())


@dataclass(frozen=True)
class Published:
    """What a paper published."""

    source: str
    conditions: Mapping[str, str]
    values: tuple[PublishedValue, ...]

    def of(self, item: str) -> list[PublishedValue]:
        """The values of one table or figure."""
        return [value for value in self.values if value.item == item]


def read_published(name: str) -> Published:
    """The values shipped for a paper (`thesis`), or those of a CSV file.

    ConfigError: no such paper or file, a missing column, a value that is no number.
    """
    shipped = shipped_configs() / "reproduce" / "published"
    path = Path(name) if name.endswith(".csv") else shipped / f"{name}.csv"
    try:
        text = read_plain(path, _MOST_BYTES).decode("utf-8-sig")
    except FileNotFoundError as error:
        known = sorted(file.stem for file in shipped.glob("*.csv"))
        raise ConfigError(f"no published values called {name!r}", nearest(name, known)) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {path} ({type(error).__name__})", "give a CSV file in UTF-8") from error
    rows = csv.DictReader(text.splitlines())
    if missing := [column for column in _COLUMNS[:5] if column not in (rows.fieldnames or ())]:
        raise ConfigError(f"{path} has no column {missing[0]!r}", f"the columns are {', '.join(_COLUMNS)}")
    source, conditions, values = "", {}, []
    for line, row in enumerate(rows, start=2):
        cells = {column: (row.get(column) or "").strip() for column in _COLUMNS}
        if cells["item"] == "source":
            source = cells["value"]
        elif cells["item"] == "condition":
            conditions[cells["row"]] = cells["value"]
        else:
            values.append(_value(cells, f"{path}, line {line}"))
    return Published(source, conditions, tuple(values))


def _value(cells: Mapping[str, str], place: str) -> PublishedValue:
    try:
        value = float(cells["value"])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ConfigError(f"{place}: {printable(cells['value'])!r} is no number", "correct the column `value`")
    parameters = dict(part.split("=", 1) for part in cells["parameters"].split() if "=" in part)
    others = {name: cells[name] for name in _COLUMNS if name not in {"value", "parameters"}}
    return PublishedValue(value=value, parameters=parameters, **others)


def beside_content(group: Group, published: Published) -> Content:
    """A table of published values with those of the runs, and one of the conditions that differ."""
    rows = []
    for value in published.values:
        for view in group.views if value.measure else ():
            if value.matches(view):
                here = _here(view, value)
                rows.append((printable(view.label), _title(group, value), f"{value.item}", *compared(value, here)))
    if not rows:
        said = f"No run has a system and metric of which a value was published: {published.source}."
        return Content(paragraphs=[said])
    header = ("run", "metric", "published in", "published", "here", "difference")
    note = f"{published.source}. A difference says nothing by itself: compare the conditions."
    table = Table("beside", "Published values and these runs", header, tuple(rows), note)
    return Content(tables=[table, _conditions(group, published)])


def compared(value: PublishedValue, here: Quantity) -> tuple[Entry, ...]:
    """The published value, the one here, and the difference here minus published."""
    unit = here.unit
    left = None if here.value is None else here.value - value.value
    return Quantity(value.value, unit=unit), here, Quantity(left, unit=unit, signed=True)


def _title(group: Group, value: PublishedValue) -> str:
    known = group.known.get(value.measure)
    title = known.display_name if known else value.measure
    return f"{title}, {value.query_type}" if value.query_type else title


def _here(view: RunView, value: PublishedValue) -> Quantity:
    wanted = value.query_type or OVERALL
    if wanted == BALANCED:
        return _balanced(view, value.measure)
    types = {type_name(own): own for own in set(view.frame.query_types.values())}
    return amount(view.row(value.measure, types.get(wanted, wanted))) or Quantity(None)


def _balanced(view: RunView, measure: str) -> Quantity:
    """The mean over query types; without an interval unless the sample itself is balanced."""
    types = list(view.frame.query_types.values())
    if len({types.count(one) for one in set(types)}) <= 1:
        return amount(view.row(measure)) or Quantity(None)
    means = [row.mean for one in set(types) if (row := view.row(measure, one)) is not None]
    return Quantity(fmean(known) if (known := [one for one in means if one is not None]) else None)


def _conditions(group: Group, published: Published) -> Table:
    view = group.widest
    here = {role: view.model(role) for role in ("generator", "embedder", "judge")}
    here["queries"] = f"{len(view.frame.query_types):,}"
    here["documents"] = f"{view.manifest.dataset.get('n_documents', '')}"
    named = [*published.conditions, *(name for name in here if name not in published.conditions)]
    rows = tuple(
        (name, published.conditions.get(name, "not stated"), printable(here.get(name, ""))) for name in named
    )
    return Table("conditions", "Conditions", ("condition", "published", "here"), rows)


def values_beside(table: Table, values: Sequence[PublishedValue]) -> Table | None:
    """The published values of a table or figure beside those that a table here holds, found by the names of its
    rows and columns; None if nothing was published.
    """
    if not values:
        return None
    cells = {
        (str(row[0]), column): entry
        for row in table.rows
        for column, entry in zip(table.header[1:], row[1:], strict=True)
        if isinstance(entry, Quantity)
    }
    rows = tuple(
        (value.row, value.column, *compared(value, cells.get((value.row, value.column), Quantity(None))))
        for value in values
    )
    pages = ", ".join(dict.fromkeys(value.page for value in values if value.page))
    header = ("row", "column", "published", "here", "difference")
    return Table(f"{table.name}-published", f"Beside the published values (page {pages})", header, rows)
