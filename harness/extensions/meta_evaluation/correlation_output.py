"""What `rag-harness correlate` prints and writes: correlation coefficients as tables, figures and JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.cli.console import open_console
from harness.display import Content, Entry, Quantity, Section, Table, printable
from harness.display.plotting import plotting
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
from harness.extensions.meta_evaluation.figures import DrawnSection, draw_correlations, write_folder
from harness.report.terminal import WIDTH, plain, print_table
from harness.statistics.correlation import FEWEST_CLUSTERS

_HEADER = ("pair", "Pearson", "Spearman", "Kendall", "answers", "clusters")
_READ = (
    "Pearson: linear; Spearman: same order; Kendall: how much more often two answers are in the same order than "
    "in the opposite one, without ties (tau-b). 95 % intervals, by cluster (a query, or queries that cite one "
    f"document most); 98 % with fewer than 30 clusters, none with fewer than {FEWEST_CLUSTERS}, if almost all "
    "values are equal, or if all agree."
)
_MANY = 20
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
