"""The pairs of a report and those of a comparison are the same numbers, in a table as in a file."""

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from paired_runs import FAILED, ScoredRun, Value, write_run

from harness.display import Entry, Quantity, Table, ValueGroup
from harness.report.chapter import Chapter, load_chapters
from harness.report.comparison import Choice, compare_runs
from harness.report.comparison.csv_and_json import comparison_csv
from harness.statistics.prices import load_prices
from harness.store import RunDir

NAMES = ("naive", "kg", "community", "recursive")
Row = Mapping[str, str]


@pytest.fixture
def runs(tmp_path: Path) -> list[RunDir]:
    """Four systems; of some queries of one of them a score failed."""

    def scores(place: int) -> dict[str, list[Value]]:
        right: list[Value] = [float(query % (place + 2) > 0) for query in range(40)]
        made_up: list[Value] = [float(query % 5 > place) for query in range(40)]
        f1: list[Value] = [(query * (place + 3) % 11) / 11 for query in range(40)]
        return {
            "accuracy": right,
            "hallucination_rate": made_up,
            "token_f1": [FAILED] * (6 * place) + f1[6 * place :],
        }

    return [
        write_run(tmp_path, ScoredRun(system=name, scores=scores(place), input_tokens=100 + 50 * place))
        for place, name in enumerate(NAMES)
    ]


def chapter_of(runs: list[RunDir], measure: str) -> Chapter:
    (chapter,) = load_chapters(runs, load_prices(), measure)
    return chapter


def pair_tables(chapter: Chapter) -> dict[str, Table]:
    """Measure -> the report's table of all its pairs."""
    assert chapter.findings.comparison is not None
    names = [one.measure.name for one in chapter.findings.comparison.measures]
    section = chapter.section("significance")
    assert section is not None
    tables = {table.name: table for table in section.content.tables}
    assert {f"pairs-{name}" for name in names} == tables.keys() - {"significance", "leads"}
    return {name: tables[f"pairs-{name}"] for name in names}


def by_pair(table: Table) -> Iterator[tuple[str, dict[str, Entry]]]:
    for row in table.rows:
        yield str(row[0]), dict(zip(table.header, row, strict=True))


def number(row: Row, name: str) -> float | None:
    return float(row[name]) if row[name] else None


def as_in_the_report(row: Row) -> dict[str, object]:
    """What a row of comparison.csv says, by the headings of the report's table."""
    words = {"a": "A is better", "b": "B is better", "tie": "tie"}
    return {
        "n": (number(row, "n"), number(row, "n_expected")),
        "A": number(row, "mean_a"),
        "B": number(row, "mean_b"),
        "A - B [CI]": tuple(number(row, name) for name in ("difference", "ci_low", "ci_high")),
        "A / B": number(row, "ratio"),
        "better/equal/worse": tuple(number(row, f"n_{name}") for name in ("a_better", "equal", "b_better")),
        "p": number(row, "p"),
        "p (Holm)": number(row, "p_holm"),
        "detectable": number(row, "detectable"),
        "result": words[row["result"]],
    }


def values_of(heading: str, entry: Entry) -> object:
    """The values of an entry."""
    if isinstance(entry, ValueGroup):
        return tuple(one.value for one in entry.quantities)
    if not isinstance(entry, Quantity):
        return entry
    if heading == "n":
        return (entry.value, entry.of)
    return (entry.value, entry.low, entry.high) if heading.startswith("A - B") else entry.value


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["accuracy", "hallucination_rate", "token_f1"])
def test_every_pair_of_the_report_is_a_row_of_comparison_csv(runs: list[RunDir], measure: str) -> None:
    tables = pair_tables(chapter_of(runs, measure))
    compared = compare_runs(runs, load_prices(), Choice(tuple(tables)))
    rows = list(csv.DictReader(io.StringIO(comparison_csv(compared))))
    told = {(row["measure"], f"{row['system_a']}, {row['system_b']}"): as_in_the_report(row) for row in rows}
    shown = {
        (name, pair): {
            heading: values_of(heading, entry) for heading, entry in entries.items() if heading != "A, B"
        }
        for name, table in tables.items()
        for pair, entries in by_pair(table)
    }
    assert measure in tables
    assert len(shown) == len(tables) * 6
    assert shown.keys() == told.keys()
    for key, entries in shown.items():
        for heading, value in entries.items():
            assert value == pytest.approx(told[key][heading]), (key, heading)


def test_the_matrix_shows_the_same_differences_as_the_pairs(runs: list[RunDir]) -> None:
    chapter = chapter_of(runs, "accuracy")
    matrix = next(table for table in chapter.tables() if table.name == "significance")
    cells = {
        f"{row[0]}, {name}": cell for row in matrix.rows for name, cell in zip(matrix.header, row, strict=True)
    }
    pairs = {pair: entries["A - B [CI]"] for pair, entries in by_pair(pair_tables(chapter)["accuracy"])}
    assert pairs == {pair: cells[pair] for pair in pairs}
    assert {str(row[0]) for row in matrix.rows} == set(NAMES)
