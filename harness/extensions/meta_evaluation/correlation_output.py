"""What `rag-harness correlate` prints and writes: correlation coefficients as tables, figures and JSON."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.cli.console import open_console
from harness.display import Content, Drawing, Entry, Quantity, Section, Table, format_value, printable
from harness.display.plotting import LIGHT, PALETTE, WIDTH_IN, NewFigure, plotting, tell
from harness.extensions.meta_evaluation.correlations import (
    ALL,
    HIGH,
    LOW,
    CorrelatedPair,
    CorrelationFindings,
    FittedWeights,
    coefficient_data,
    column_spread,
    weights_section,
)
from harness.extensions.meta_evaluation.figures import DrawnSection, value_map, write_folder
from harness.report.figures.marks import panel_grid, wrapped
from harness.report.terminal import WIDTH, plain, print_table
from harness.statistics.correlation import FEWEST_CLUSTERS, Coefficient

_HEADER = ("pair", "Pearson", "Spearman", "Kendall", "answers", "clusters")
_READ = (
    "Pearson: linear; Spearman: same order; Kendall: how much more often two answers are in the same order than "
    "in the opposite one, without ties (tau-b). 95 % intervals, by cluster (a query, or queries that cite one "
    f"document most); 98 % with fewer than 30 clusters, none with fewer than {FEWEST_CLUSTERS}, if almost all "
    "values are equal, or if all agree."
)
_MANY = 20
_MOST_SCATTERS, _MOST_NAMES = 12, 30
_DOT, _LARGEST_DOT = 9.0, 60.0
_COUNTS = ("one", "other", "part", "n", "n_of", "n_clusters", "why_not")


def show_correlations(
    findings: CorrelationFindings, fitted: FittedWeights | None, *, out: Path | None, as_json: bool
) -> None:
    """Write the result to `out`, if there is one, and print it."""
    sections, data, page = correlation_sections(findings, fitted), correlation_data(findings, fitted), None
    if out:
        with plotting() as new_figure:
            drawn: list[DrawnSection] = [(section, ()) for section in sections]
            drawn[0] = (sections[0], draw_correlations(findings, new_figure))
            page = write_folder(out, "correlations", "Correlations", drawn, data)
    console = open_console()
    if as_json:
        console.print(json.dumps(data, indent=1, allow_nan=False), soft_wrap=True)
        return
    for section in sections:
        for table in section.content.tables:
            print_table(table, console, min(console.width, WIDTH))
        for item in section.content.items:
            console.print(plain(f"- {printable(item, 400)}"), soft_wrap=True)
    if page:
        console.print(f"correlations: {page}", soft_wrap=True)


def correlation_sections(findings: CorrelationFindings, fitted: FittedWeights | None = None) -> list[Section]:
    """The results over all answers and by group, and the fitted weights."""
    # The strongest first, those without a coefficient last; ties in the order of the columns.
    by_strength = sorted(
        findings.pairs, key=lambda pair: -abs(pair.found.spearman.value or 0.0) if pair.found else 2
    )
    tables = [_table("correlations", "Correlations", by_strength), _spread_table(findings)]
    groups = _group_table(by_strength)
    tables += [groups] if groups.rows else []
    found = [Section("correlations", "Correlations", Content([_READ], _remarks(findings), tables))]
    if findings.parts:
        table = _table("parts", "Correlations by part", findings.parts)
        found.append(Section("parts", "By part", Content(tables=[table])))
    return [*found, *([weights_section(fitted)] if fitted else [])]


def correlation_data(findings: CorrelationFindings, fitted: FittedWeights | None = None) -> dict[str, Any]:
    """The same for scripts; unknown values are null."""
    return {
        "pairs": [
            {
                **{name: getattr(pair, name) for name in _COUNTS},
                **{
                    name: coefficient_data(getattr(pair.found, name)) if pair.found else None
                    for name in ("pearson", "spearman", "kendall")
                },
            }
            for pair in (*findings.pairs, *findings.parts)
        ],
        "columns": {name: column_spread(findings.columns.column(name))._asdict() for name in findings.names},
        "groups": [
            {"one": pair.one, "other": pair.other, **pair.groups._asdict()}
            for pair in findings.pairs
            if pair.groups
        ],
        "labels": list(findings.columns.labels),
        "notes": _remarks(findings),
        **({"weights": asdict(fitted)} if fitted else {}),
    }


def _remarks(findings: CorrelationFindings) -> list[str]:
    notes = list(findings.notes)
    columns = findings.columns
    runs = {row.run_id for row in columns.rows}
    if len(runs) > 1:
        notes.append(
            f"Answers of {len(runs)} runs stand in one column: runs that differ in their means alone make a "
            "correlation; --by run shows each run separately."
        )
    if len(findings.measurable) >= _MANY:
        n = len(findings.measurable)
        chance = f"if none were correlated, about {n / 20:.0f} intervals would exclude 0"
        notes.append(f"{n:,} pairs were tested: {chance}.")
    if any(pair.n < pair.n_of for pair in findings.pairs):
        notes.append("n is below the number of answers where a measure does not apply or failed.")
    constant = {name for name in columns.names if len(set(columns.column(name))) == 1}
    told = [pair for pair in (*findings.pairs, *findings.parts) if constant.isdisjoint((pair.one, pair.other))]
    return [*notes, *_refusals(told)]


def _table(name: str, title: str, pairs: Sequence[CorrelatedPair]) -> Table:
    found = [pair for pair in pairs if pair.found]
    has_parts = any(pair.part != ALL for pair in found)
    header = ("pair", "part", *_HEADER[1:]) if has_parts else _HEADER
    rows = tuple(
        (
            _named(pair),
            *((printable(pair.part),) if has_parts else ()),
            *(
                Quantity(one.value, *one.interval, unit="coefficient")
                for one in (pair.found.pearson, pair.found.spearman, pair.found.kendall)
            ),
            Quantity(pair.n, of=pair.n_of, unit="count"),
            Quantity(pair.n_clusters, unit="count"),
        )
        for pair in found
        if pair.found
    )
    details = frozenset({"clusters"}) if all(pair.n == pair.n_clusters for pair in found) else frozenset[str]()
    return Table(name, title, header, rows, is_long=len(rows) > _MANY, details=details)


def _spread_table(findings: CorrelationFindings) -> Table:
    rows: list[tuple[Entry, ...]] = []
    for name in findings.names:
        n, *values = column_spread(findings.columns.column(name))
        shown = (Quantity(value, unit="coefficient") for value in values)
        rows.append((printable(name), *shown, Quantity(n, unit="count")))
    header = ("column", "mean", "standard deviation", "answers")
    return Table("columns", "Means and standard deviations", header, tuple(rows), is_long=len(rows) > _MANY)


def _group_table(pairs: Sequence[CorrelatedPair]) -> Table:
    """The mean of each pair's second column where the first is high and where it is low."""
    rows: list[tuple[Entry, ...]] = []
    for pair in pairs:
        if found := pair.groups:
            means = (Quantity(value, unit="coefficient") for value in (found.high, found.low))
            counts = (Quantity(count, unit="count") for count in (found.n_high, found.n_low))
            rows.append((printable(pair.other), printable(pair.one), *means, *counts))
    above, below = f"above {HIGH:g}", f"below {LOW:g}"
    header = ("mean of", "where this is", above, below, f"answers {above}", f"answers {below}")
    return Table("groups", "Means by group", header, tuple(rows), is_long=len(rows) > _MANY)


def _refusals(pairs: Sequence[CorrelatedPair]) -> list[str]:
    """The pairs without a coefficient and why, grouped by reason and part."""
    reasons: dict[tuple[str, str], list[CorrelatedPair]] = {}
    lost = {(pair.one, pair.other) for pair in pairs if pair.part == ALL and not pair.found}
    for pair in pairs:
        if not pair.found and (pair.part == ALL or (pair.one, pair.other) not in lost):
            reasons.setdefault((pair.part, pair.why_not), []).append(pair)
    return [
        f"no coefficient of {_named(named[0])}{f' and {len(named) - 1} more' if len(named) > 1 else ''}"
        f"{'' if part == ALL else f' ({printable(part)})'}: {why}"
        for (part, why), named in reasons.items()
    ]


def _named(pair: CorrelatedPair) -> str:
    return f"{printable(pair.one)} ~ {printable(pair.other)}"


def draw_correlations(findings: CorrelationFindings, new_figure: NewFigure) -> list[Drawing]:
    """Scatter plots of the first pairs and, of three columns and more, a heat map for each coefficient."""
    shown = sorted(findings.measurable, key=lambda pair: -abs(_value(pair, "spearman") or 0.0))[:_MOST_SCATTERS]
    drawings = [_scatters(findings, shown, new_figure)]
    if 3 <= len(findings.names) <= _MOST_NAMES:
        drawings += [_heat(findings, kind, new_figure) for kind in ("pearson", "spearman", "kendall")]
    return drawings


def _scatters(findings: CorrelationFindings, pairs: Sequence[CorrelatedPair], new_figure: NewFigure) -> Drawing:
    figure, panels = panel_grid(new_figure, len(pairs), min(3, len(pairs)), 0.3, 2.5)
    if len(pairs) == 1:
        figure.set_size_inches(4.6, 3.9)
    for axes, pair in zip(panels, pairs, strict=True):
        shared = findings.columns.having(pair.one, pair.other)
        places = Counter((row.values[pair.one], row.values[pair.other]) for row in shared)
        points = sorted(places)
        step = (_LARGEST_DOT - _DOT) / max(1, max(places.values()) - 1)
        sizes = [_DOT + step * (places[point] - 1) for point in points]
        x, y = zip(*points, strict=True)
        axes.scatter(x, y, sizes, color=PALETTE[0], alpha=0.55, linewidths=0)
        axes.set_title(_said(pair), fontsize=7)
        axes.set_xlabel(_name(pair.one), fontsize=7)
        axes.set_ylabel(_name(pair.other), fontsize=7)
        axes.margins(0.06)
        axes.grid(color=LIGHT, linewidth=0.5)
        axes.locator_params(nbins=4)
    caption = "Each dot is an answer, larger if several answers share a position; rho is Spearman's."
    n = len(findings.measurable)
    caption += f" The {len(pairs)} strongest of {n} pairs." if len(pairs) < n else ""
    alt = "; ".join(f"{pair.one} and {pair.other}: {_said(pair)}" for pair in pairs[:4])
    return Drawing("scatter", "Answer by answer", caption, alt, figure)


def _heat(findings: CorrelationFindings, kind: str, new_figure: NewFigure) -> Drawing:
    """Labels against measures, or all measures against each other."""
    values: dict[tuple[str, str], float] = {}
    names, labels = findings.names, findings.columns.labels
    for pair in findings.measurable:
        if (value := _value(pair, kind)) is not None:
            values[pair.one, pair.other] = value
            if not labels:
                values[pair.other, pair.one] = value
    rows = [name for name in names if name not in labels]
    columns = [name for name in names if name in labels] or rows
    inch = min(0.55, max(0.24, 4.6 / len(columns)))
    size = (min(WIDTH_IN, 2.6 + inch * len(columns)), 1.7 + min(inch, 0.42) * len(rows))
    figure = new_figure(figsize=size, layout="constrained")
    drawn = [[values.get((row, column), math.nan) for column in columns] for row in rows]
    letters = 7 if inch > 0.4 else 5
    axes, written = value_map(figure, drawn, (-1, 1), 0.6, letters)
    for (y, x), label in written.items():
        tell(label, f"{rows[y]} and {columns[x]}: {label.get_text()}")
    axes.set_xticks(range(len(columns)), map(_name, columns), rotation=60, ha="right", fontsize=letters)
    axes.set_yticks(range(len(rows)), map(_name, rows), fontsize=letters)
    strongest = sorted(values.items(), key=lambda one: -abs(one[1]))
    alt = "; ".join(f"{one} and {other} {value:.2f}" for (one, other), value in strongest[:6])
    caption = f"{kind.capitalize()}'s coefficient; empty: too few answers, or a column that never varies."
    return Drawing(f"heat_{kind}", f"{kind.capitalize()}", caption, alt, figure)


def _value(pair: CorrelatedPair, kind: str) -> float | None:
    coefficient: Coefficient | None = getattr(pair.found, kind) if pair.found else None
    return coefficient.value if coefficient else None


def _said(pair: CorrelatedPair) -> str:
    if pair.found is None:
        return pair.why_not
    rho = pair.found.spearman
    return f"rho {format_value(Quantity(rho.value, *rho.interval, n=pair.n, unit='coefficient'))}"


def _name(name: str) -> str:
    return wrapped(printable(name, 60).replace("_", " "), 26)
