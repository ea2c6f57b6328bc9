"""Pairs of a report and of a comparison are the same numbers; baselines and runs that fail change none of them."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from paired_runs import FAILED, IMPUTED, ScoredRun, Value, write_run
from records import known
from report_groups import chapter_of, csv_rows, printed, scored
from report_groups import right as right_of

from harness.core.errors import ConfigError
from harness.core.records import Usage
from harness.display import Quantity, Rank, Table, format_value
from harness.report.chapter import Chapter
from harness.report.comparison.compare import Comparison, ComparisonChoice, compare_runs
from harness.report.comparison.output import comparison_csv, comparison_json, differences_csv, render_comparison
from harness.report.comparison.tables import comparison_tables
from harness.statistics.prices import load_prices
from harness.store import RunDir

pytestmark = pytest.mark.slow


@pytest.fixture
def runs(tmp_path: Path) -> list[RunDir]:
    """Four systems; of some queries of each but the first a score failed."""
    found = []
    for place, name in enumerate(("naive", "kg", "community", "recursive")):
        f1: list[Value] = [(query * (place + 3) % 11) / 11 for query in range(40)]
        scores: dict[str, list[Value]] = {
            "accuracy": [float(query % (place + 2) > 0) for query in range(40)],
            "hallucination_rate": [float(query % 5 > place) for query in range(40)],
            "token_f1": [FAILED] * (6 * place) + f1[6 * place :],
        }
        found.append(write_run(tmp_path, ScoredRun(name, scores, input_tokens=100 + 50 * place)))
    return found


def pair_tables(chapter: Chapter) -> dict[str, Table]:
    """Measure -> the report's table of all its pairs."""
    names = [one.measure.name for one in known(chapter.findings.ranking.comparison).measures]
    section = known(chapter.section("significance"))
    tables = {table.name: table for table in section.content.tables}
    assert {f"pairs-{name}" for name in names} == tables.keys() - {"significance", "leads"}
    return {name: tables[f"pairs-{name}"] for name in names}


@pytest.mark.parametrize("measure", ["accuracy", "hallucination_rate", "token_f1"])
def test_the_pairs_of_a_report_are_those_of_a_comparison(runs: list[RunDir], measure: str) -> None:
    chapter = chapter_of(*runs, measure=measure)
    pairs = {one.measure.name: one.pairs for one in known(chapter.findings.ranking.comparison).measures}
    compared = compare_runs(runs, load_prices(), ComparisonChoice(tuple(pairs)))
    assert measure in pairs
    assert {name: len(own) for name, own in pairs.items()} == dict.fromkeys(pair_tables(chapter), 6)
    assert pairs == {one.measure.name: one.pairs for one in compared.measures}


def test_the_matrix_shows_the_same_differences_as_the_pairs(runs: list[RunDir]) -> None:
    chapter = chapter_of(*runs)
    matrix = next(table for table in chapter.tables() if table.name == "significance")
    cells = {
        f"{row[0]}, {name}": cell for row in matrix.rows for name, cell in zip(matrix.header, row, strict=True)
    }
    table = pair_tables(chapter)["accuracy"]
    pairs = {str(row[0]): row[table.header.index("A - B [CI]")] for row in table.rows}
    assert len(pairs) == 6
    assert pairs == {pair: cells[pair] for pair in pairs}


BASELINE = "Shown to read the others by."
FREE = {"generator": Usage(calls=1, input_tokens=1)}
COSTS = ("tokens", "latency_s", "wall_s", "input_tokens", "output_tokens", "usd")


def right(count: int, n: int = 40) -> Sequence[Value]:
    return right_of(count, n)


def found(runs: Sequence[RunDir], choice: ComparisonChoice | None = None) -> Comparison:
    return compare_runs(runs, load_prices(), choice)


def systems(results: Path, *counts: int) -> list[RunDir]:
    return scored(results, {f"s{number}": right(count) for number, count in enumerate(counts)})


def baselines(results: Path) -> list[RunDir]:
    return scored(results, {"closed-book": right(3), "gold": right(39)}, baseline=BASELINE)


def rows_of(comparison: Comparison) -> list[dict[str, str]]:
    return csv_rows(comparison_csv(comparison))


def ranks_of(comparison: Comparison, measure: str) -> dict[object, object]:
    (table,) = [table for table in comparison_tables(comparison) if table.name == f"ranks-{measure}"]
    return {row[0]: row[1] for row in table.rows}


def failing_run(results: Path, n_failed: int) -> RunDir:
    """It takes nearly nothing, and of 40 queries the first fail."""
    values = [*[IMPUTED] * n_failed, *right(40 - n_failed)[n_failed:]]
    return scored(results, {"failing": values}, usage=FREE)[0]


def test_costs_of_a_run_that_fails_too_often_are_not_compared(tmp_path: Path) -> None:
    runs = [*systems(tmp_path, 30, 34), failing_run(tmp_path, 8)]
    comparison = found(runs)
    by_cost = [row for row in rows_of(comparison) if row["measure"] in COSTS]
    assert {(row["system_a"], row["system_b"]) for row in by_cost} == {("s0", "s1")}
    assert {row["family"] for row in by_cost} == {"1"}
    assert ranks_of(comparison, "tokens") == {"s0": Rank(1, 2), "s1": Rank(1, 2), "failing": None}
    # What it got right is compared as ever.
    assert len([row for row in rows_of(comparison) if row["measure"] == "accuracy"]) == 3
    why = "failing failed too often for its costs to be compared."
    assert why in comparison.notes
    assert why not in found(runs, ComparisonChoice(("accuracy",))).notes
    with pytest.raises(ConfigError, match="'tokens': failing failed too often"):
        found([runs[0], runs[2]], ComparisonChoice(("accuracy", "tokens")))


def test_costs_of_a_run_that_mostly_abstains_are_not_compared(tmp_path: Path) -> None:
    no = "Insufficient information."
    for name, said in (("most", (no, no, "Yes")), ("half", (no, "Yes"))):
        refusing = scored(tmp_path / name, {"refusing": right(0)}, usage=FREE, said=said)
        comparison = found([*systems(tmp_path / name, 30), *refusing])
        assert ("tokens" in {one.measure.name for one in comparison.measures}) is (name == "half")
        noted = any(note.startswith("refusing abstained on ") for note in comparison.notes)
        assert noted is (name == "most")


def test_failures_are_counted_among_the_queries_that_are_compared(tmp_path: Path) -> None:
    kinds = ("inference_query", "null_query")
    failed: list[Value] = [IMPUTED, 1.0] * 4
    scores = {name: [*own, *right(32, 32)] for name, own in (("s0", right(8, 8)), ("failing", failed))}
    runs = scored(tmp_path, scores, types=kinds)
    for kind, is_compared in (("inference", False), ("null", True), (None, False)):
        measures = {one.measure.name for one in found(runs, ComparisonChoice(query_type=kind)).measures}
        assert ("tokens" in measures) == is_compared, kind


def test_baselines_move_no_verdict_and_no_rank(tmp_path: Path) -> None:
    runs, marks = systems(tmp_path, 26, 34, 20), baselines(tmp_path)
    alone, beside = found(runs), found([marks[0], *runs, marks[1]])
    told = ("system_a", "system_b", "measure", "n", "p", "p_holm", "ci_low", "ci_high", "family", "result")
    competing = [row for row in rows_of(beside) if row["apart"] == "false"]
    assert [[row[name] for name in told] for row in competing] == [
        [row[name] for name in told] for row in rows_of(alone)
    ]
    by_accuracy = ranks_of(beside, "accuracy")
    assert {name: by_accuracy.pop(name) for name in ("closed-book", "gold")} == {"closed-book": None, "gold": None}
    assert by_accuracy == ranks_of(alone, "accuracy")


def test_pairs_with_a_baseline_stand_apart_in_a_family_of_their_own(tmp_path: Path) -> None:
    comparison = found([*systems(tmp_path, 26, 34), *baselines(tmp_path)], ComparisonChoice(("accuracy",)))
    apart = [row for row in rows_of(comparison) if row["apart"] == "true"]
    baselines_of = {(row["system_a"], row["system_b"]) for row in apart}
    assert baselines_of == {(a, b) for a in ("s0", "s1") for b in ("closed-book", "gold")} | {
        ("closed-book", "gold")
    }
    assert {row["family"] for row in apart} == {"5"}
    assert [table.name for table in comparison_tables(comparison)][-1] == "apart-pairs-accuracy"
    assert comparison.notes[0].startswith("closed-book, gold are baselines")
    value = json.loads(json.dumps(comparison_json(comparison)))
    assert [len(value["measures"][0]["pairs"]), *(len(one["pairs"]) for one in value["apart"])] == [1, 5]
    assert "gold" in differences_csv(comparison)


def test_a_baseline_has_its_mean_in_the_ranking_and_what_is_to_be_known_of_its_sample(tmp_path: Path) -> None:
    gold = ScoredRun(system="gold", scores={"accuracy": right(39)}, baseline=BASELINE, digest="e" * 64)
    runs = [*systems(tmp_path, 26, 34), write_run(tmp_path, gold)]
    comparison = found(runs, ComparisonChoice(("accuracy",)))
    (one,) = json.loads(json.dumps(comparison_json(comparison)))["measures"]
    means = {row["system"]: (row["mean"], row["ranks"]) for row in one["ranking"]}
    assert means["gold"] == (39 / 40, None)
    assert means["s0"] == (26 / 40, [2, 2])
    assert any("s0 and gold were made over other samples" in note for note in comparison.notes)
    assert not any("gold was scored in another way" in note for note in comparison.notes)


def test_baselines_are_compared_like_systems_if_no_two_systems_are_named(tmp_path: Path) -> None:
    runs, marks = systems(tmp_path, 26, 34), baselines(tmp_path)
    for named, choice in (
        ([runs[0], *marks], ComparisonChoice(("accuracy",))),
        (runs, ComparisonChoice(("accuracy",), against=marks[1])),
    ):
        comparison = found(named, choice)
        assert comparison.apart == ()
        assert {row["apart"] for row in rows_of(comparison)} == {"false"}
        assert not any("stand apart" in note for note in comparison.notes)


def test_a_comparison_of_two_runs_shows_the_interval_of_the_leaderboard(tmp_path: Path) -> None:
    cites = ["a", "b", "b", "c", "d", "d"]
    pair = scored(tmp_path, {"naive": right(11, 18), "kg": right(14, 18)}, cites=cites)
    (behind,) = [one.behind for one in chapter_of(*pair).findings.verdict.standings if one.system == "naive"]
    assert behind is not None
    shown = printed(lambda console: render_comparison(found(pair), console))
    gap = Quantity(behind.value, behind.low, behind.high, unit="points", signed=True)
    assert format_value(gap) in shown
