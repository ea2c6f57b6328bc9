"""Values that papers published, read from a CSV file, and the same values of runs beside them.

Columns: `item` (such as `table-5.2`), `page` (or a section), `row` and `column` of the value, `value`; where a
metric here has the same meaning also `measure`, `query_type` (empty: all queries; `balanced`: the mean over query
types), `system` and `parameters` (`answer.mode=global`) of the runs that it stands beside. Rows with the item
`source` or `condition` say where the values come from and under which conditions.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from harness.config.shipped_files import shipped_configs
from harness.core.bounded_files import read_plain
from harness.core.errors import ConfigError, nearest
from harness.core.hashing import flatten
from harness.display import Content, Entry, Quantity, Table, printable
from harness.display.text_format import type_name
from harness.report.quantities import amount
from harness.report.view import Group, RunView
from harness.statistics.run_frame import OVERALL

BALANCED = "balanced"
DATA_SET = "data set"
"""The condition that decides whether values may be subtracted: the name of a data set here, if it is the same."""
_MOST_BYTES = 1 << 20
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?|[+-]?\.[0-9]+")
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
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Published:
    source: str
    conditions: Mapping[str, str]
    values: tuple[PublishedValue, ...]

    def is_over(self, groups: Sequence[Group]) -> bool:
        """Whether the values are those of the runs' data set, as far as is known."""
        named = self.conditions.get(DATA_SET)
        return named is None or all(named == _dataset_of(group) for group in groups)

    def of(self, item: str) -> list[PublishedValue]:
        return [value for value in self.values if value.item == item]


def read_published(name: str) -> Published:
    """The values shipped for a paper (`thesis`), or those of a CSV file; ConfigError: there are none."""
    shipped = shipped_configs() / "reproduce" / "published"
    path = Path(name) if name.endswith(".csv") else shipped / f"{name}.csv"
    try:
        text = read_plain(path, _MOST_BYTES).decode("utf-8-sig")
        reader = csv.DictReader(io.StringIO(text, newline=""))
        rows, header = [*reader], list(reader.fieldnames or [])
    except FileNotFoundError as error:
        known = sorted(file.stem for file in shipped.glob("*.csv"))
        raise ConfigError(f"no published values called {name!r}", nearest(name, known)) from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"cannot read {path} ({type(error).__name__})", "give a CSV file in UTF-8") from error
    needed = {*_COLUMNS[:5], *header}
    if wrong := [column for column in _COLUMNS if column in needed and header.count(column) != 1]:
        times = f"{header.count(wrong[0])} columns" if wrong[0] in header else "no column"
        raise ConfigError(f"{path} has {times} {wrong[0]!r}", f"the columns are {', '.join(_COLUMNS)}")
    source, conditions, values = "", {}, []
    for line, row in enumerate(rows, start=2):
        cells = {column: (row.get(column) or "").strip() for column in _COLUMNS}
        if cells["item"] == "source":
            source = cells["value"]
        elif cells["item"] == "condition":
            conditions[cells["row"]] = cells["value"]
        else:
            said, settings = cells.pop("value"), cells.pop("parameters")
            value = float(said) if _NUMBER.fullmatch(said) else math.nan
            if not abs(value) < 1e15:
                what = f"{path}, line {line}: {printable(said)!r} is no number"
                raise ConfigError(what, "correct the column `value`")
            parameters = dict(part.split("=", 1) for part in settings.split() if "=" in part)
            values.append(PublishedValue(value=value, parameters=parameters, **cells))
    return Published(source, conditions, tuple(values))


def is_run_of(view: RunView, system: str, parameters: Mapping[str, str]) -> bool:
    """Whether a run is one of the system with these parameters (`answer.mode`: `global`)."""
    identity = view.manifest.system
    own = flatten(identity) if isinstance(identity, dict) else {}
    return own.get("name") == system and all(str(own.get(key)) == value for key, value in parameters.items())


def beside_content(group: Group, published: Published) -> Content:
    """A table beside the runs, and the conditions. ConfigError: a value outside the range of its metric."""
    rows = []
    for value in published.values:
        known = group.known.get(value.measure)
        if known and known.ends and not known.ends[0] <= value.value <= known.ends[1]:
            said = f"{value.item}, {value.row}: {value.value:g} is no value of {value.measure}"
            low, high = known.ends
            raise ConfigError(said, f"give values from {low:g} to {high:g}: shares, not per cent")
        title = known.display_name if known else value.measure
        title = f"{title}, {value.query_type}" if value.query_type else title
        for view in group.views if value.measure else ():
            if is_run_of(view, value.system, value.parameters):
                here = _here(view, value)
                shown = compared(value, here, is_comparable=published.is_over([group]))
                rows.append((printable(view.label), title, value.item, *shown))
    if not rows:
        said = f"No run has a system and metric of which a value was published: {published.source}."
        return Content(paragraphs=[said])
    header = ("run", "metric", "published in", "published", "here", "difference")
    note = f"{published.source}. A difference says nothing by itself: compare the conditions."
    table = Table("beside", "Published values and these runs", header, tuple(rows), note)
    return Content(tables=[table, conditions_table([group], published)])


def compared(value: PublishedValue, here: Quantity, *, is_comparable: bool) -> tuple[Entry, ...]:
    """The published value, the one here, and the difference here minus published, over the same data set."""
    unit = here.unit
    left = None if here.value is None or not is_comparable else here.value - value.value
    return Quantity(value.value, unit=unit), here, Quantity(left, unit=unit, signed=True)


def _here(view: RunView, value: PublishedValue) -> Quantity:
    wanted, counts = value.query_type or OVERALL, Counter(view.frame.query_types.values())
    if wanted == BALANCED and len({*counts.values()}) > 1:
        # The mean over query types, without an interval.
        means = [row.mean for one in counts if (row := view.row(value.measure, one)) and row.mean is not None]
        return Quantity(fmean(means) if means else None)
    types = {BALANCED: OVERALL, **{type_name(own): own for own in counts}}
    return amount(view.row(value.measure, types.get(wanted, wanted))) or Quantity(None)


def _dataset_of(group: Group) -> str:
    return str(group.widest.manifest.identity.get("dataset", {}).get("name", ""))


def conditions_table(groups: Sequence[Group], published: Published) -> Table:
    found: dict[str, list[str]] = {DATA_SET: [_dataset_of(group) for group in groups]}
    for group in groups:
        for role in ("generator", "embedder"):
            found.setdefault(role, []).extend(view.model(role) for view in group.views)
        found.setdefault("queries", []).append(f"{len(group.widest.frame.query_types):,}")
        found.setdefault("documents", []).append(f"{group.widest.manifest.dataset.get('n_documents', '')}")
    scored = (one.models.get("judge", {}) for group in groups for one in group.evaluations)
    found["judge"] = sorted({f"{one.get('provider')}/{one.get('model')}" for one in scored if one}) or ["none"]
    here = {name: printable(", ".join(dict.fromkeys(values)), 120) for name, values in found.items()}
    named = [*published.conditions, *(name for name in here if name not in published.conditions)]
    rows = ((name, published.conditions.get(name, "not stated"), here.get(name, "")) for name in named)
    return Table("conditions", "Conditions", ("condition", "published", "here"), tuple(rows))


def values_beside(table: Table, values: Sequence[PublishedValue], *, is_comparable: bool) -> Table | None:
    """The published values beside those of the same row and column of a table; None: nothing was published."""
    if not values:
        return None
    cells = {
        (str(row[0]), column): entry
        for row in table.rows
        for column, entry in zip(table.header[1:], row[1:], strict=True)
        if isinstance(entry, Quantity)
    }
    found = ((value, cells.get((value.row, value.column), Quantity(None))) for value in values)
    rows = tuple(
        (value.row, value.column, *compared(value, here, is_comparable=is_comparable)) for value, here in found
    )
    pages = dict.fromkeys(value.page for value in values if value.page)
    places = ", ".join(f"page {page}" if page.isdigit() else page for page in pages)
    header = ("row", "column", "published", "here", "difference")
    return Table(f"{table.name}-published", f"Beside the published values ({places})", header, rows)
