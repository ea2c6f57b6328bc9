"""Runs compared, from their folders to tables: what is refused, what is said, what is printed and written."""

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from paired_runs import FAILED, IMPUTED, ScoredRun, Value, write_run
from records import known
from report_groups import chapter_of, csv_rows, group_of, printed, scored
from report_groups import right as right_of

from harness.core.errors import ConfigError
from harness.core.records import Usage
from harness.display import Quantity, Table, format_value
from harness.report.chapter import Chapter
from harness.report.comparison.compare import Comparison, ComparisonChoice
from harness.report.comparison.output import (
    COLUMNS,
    comparison_csv,
    comparison_json,
    differences_csv,
    render_comparison,
    write_comparison,
)
from harness.report.comparison.tables import comparison_tables, rank
from harness.report.verdict import findings
from harness.report.verdict.findings import find
from harness.statistics.prices import load_prices
from harness.store import RunDir

pytestmark = pytest.mark.slow

EVIL = "[bold red]x[/] <b>|y|</b> \x1b[2J=1+1"


def right(count: int, n: int = 40) -> Sequence[Value]:
    return right_of(count, n)


def rows_of(comparison: Comparison) -> list[dict[str, str]]:
    return csv_rows(comparison_csv(comparison))


def compare_runs(runs: Sequence[RunDir], choice: ComparisonChoice | None = None) -> Comparison:
    return findings.compare_runs(runs, load_prices(), choice)


def three_runs(results: Path) -> list[RunDir]:
    two = scored(results, {"naive": right(30), "kg": right(34)}, latency_s=(2.0, 3.0))
    return [*two, *scored(results, {"community": right(20)}, latency_s=(8.0, 9.0))]


def shown(comparison: Comparison, width: int = 100, *, terminal: bool = False) -> str:
    return printed(lambda console: render_comparison(comparison, console, full=True), width, terminal=terminal)


def table_of(comparison: Comparison, name: str) -> Table:
    return next(table for table in comparison_tables(comparison) if table.name == name)


def differences_of(comparison: Comparison, measure: str) -> dict[str, Quantity]:
    """Pair -> A - B."""
    table = table_of(comparison, f"pairs-{measure}")
    place = table.header.index("A - B [CI]")
    return {str(row[0]): found for row in table.rows if isinstance(found := row[place], Quantity)}


def test_ties_print_as_ties_and_differences_with_their_direction(tmp_path: Path) -> None:
    runs = three_runs(tmp_path)
    measures = [one.measure.name for one in compare_runs(runs).measures]
    assert measures == ["accuracy", "latency_s", "wall_s", "tokens", "input_tokens", "output_tokens", "usd"]
    comparison = compare_runs(runs, ComparisonChoice(("accuracy", "latency_s")))
    marks = {pair: found.mark for pair, found in differences_of(comparison, "accuracy").items()}
    assert marks == {"naive, kg": "~", "naive, community": ">", "kg, community": ">"}
    assert [row[:2] for row in table_of(comparison, "ranks-accuracy").rows] == [
        ("kg", rank(1, 2)),
        ("naive", rank(1, 2)),
        ("community", rank(3, 3)),
    ]
    text = shown(comparison)
    for line in (r"kg +1-2 +0\.850", r"naive +1-2 +0\.750", r"community +3 +0\.500"):
        assert re.search(rf"^{line}$", text, re.MULTILINE)
    # Four of four queries speak for kg: p is 0.125, and the interval does not exclude 0.
    assert re.search(r"^naive, kg +40 .*-0\.100 \[-0\.231, 0\.000\] ~", text, re.MULTILINE)
    assert "Lower is better; sign-flip permutation test; Holm over 3 pairs." in text
    assert "winner" not in text


def test_the_files_and_the_json_hold_every_pair_and_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    runs = three_runs(tmp_path / "results")
    comparison = compare_runs(runs, ComparisonChoice(("accuracy",)))
    first, second = (write_comparison(comparison, tmp_path / name) for name in ("one", "two"))
    names = sorted(path.name for path in first.glob("[!.]*"))
    assert names == ["comparison.csv", "differences.csv"]
    assert all((first / name).read_bytes() == (second / name).read_bytes() for name in names)
    rows, differing = (csv_rows((first / name).read_text(encoding="utf-8")) for name in names)
    assert [list(row) for row in rows] == [list(COLUMNS)] * 3
    one = rows[0]
    assert (one["system_a"], one["system_b"], one["run_a"]) == ("naive", "kg", runs[0].run_id)
    assert (one["n"], one["mean_a"], one["mean_b"], one["difference"]) == ("40", "0.75", "0.85", "-0.1")
    assert (one["n_a_better"], one["n_equal"], one["n_b_better"]) == ("0", "36", "4")
    assert (one["test"], one["p"], one["family"], one["result"]) == ("mcnemar", "0.125", "3", "tie")
    assert (rows[1]["result"], rows[1]["higher_is_better"]) == ("a", "true")
    pair = comparison.measures[0].pairs[0]
    told = [float(one[name]) for name in ("ratio", "detectable", "ci_low", "ci_high", "p_holm")]
    assert told == pytest.approx([pair.ratio, pair.detectable, *pair.interval, pair.p_holm])
    shown = [[row[key] for key in ("query_id", "value_a", "value_b", "better")] for row in differing[:4]]
    assert shown == [[f"q{number:03d}", "0", "1", "b"] for number in range(30, 34)]
    (held,) = json.loads(json.dumps(comparison_json(comparison), allow_nan=False))["measures"]
    assert [pair["result"] for pair in held["pairs"]] == ["tie", "a", "a"]
    assert [entry["ranks"] for entry in held["ranking"]] == [[1, 2], [1, 2], [3, 3]]
    assert [f"{pair['p_holm']:.10g}" for pair in held["pairs"]] == [row["p_holm"] for row in rows]


SCORED = {"accuracy": right(3)}
LACKING = ScoredRun(queries=["q1", "q2"], replayed=2, input_tokens=None)


@pytest.mark.parametrize(
    ("plans", "measures", "said"),
    [
        (
            [ScoredRun(dataset="demo", scores=SCORED), ScoredRun(dataset="ms_marco", scores=SCORED)],
            (),
            r"is over demo, .* over ms_marco: they cannot be compared",
        ),
        (
            [ScoredRun(name, {"accuracy": [1.0]}, queries=[name], digest=name) for name in ("naive", "kg")],
            (),
            "naive and kg have no query in common",
        ),
        (
            [replace(LACKING, system=name, scores={name: [1.0, 0.0]}) for name in ("naive", "kg")],
            (),
            "the runs have no measure in common: run: rag-harness evaluate",
        ),
        (
            [ScoredRun("naive", {**SCORED, "token_f1": right(3)}), ScoredRun("kg", SCORED)],
            ("token_f1",),
            "'token_f1' has no value in kg",
        ),
        (
            [ScoredRun("naive", SCORED), ScoredRun("kg", SCORED)],
            ("acuracy",),
            r"'acuracy' has no value in naive: did you mean 'accuracy'\?",
        ),
        # The same run twice is one.
        ([ScoredRun("naive", SCORED)], (), "at least two different runs"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused_in_one_line(
    tmp_path: Path, plans: Sequence[ScoredRun], measures: tuple[str, ...], said: str
) -> None:
    runs = [write_run(tmp_path, plan) for plan in plans]
    with pytest.raises(ConfigError, match=said):
        compare_runs([*runs, RunDir(runs[0].path / "." / "")], ComparisonChoice(measures))


def test_a_missing_score_counts_as_the_worst_and_is_a_note(tmp_path: Path) -> None:
    runs = scored(tmp_path, {"naive": [FAILED] * 9 + [1.0] * 41, "kg": right(20, 50)})
    comparison = compare_runs(runs, ComparisonChoice(("accuracy",)))
    assert comparison.measures[0].n_missing == (9, 0)
    assert table_of(comparison, "pairs-accuracy").rows[0][1] == Quantity(50, of=50, unit="count")
    assert any("naive" in note and "9" in note for note in comparison.notes)
    # A failed answer stays in with its worst value.
    failed = scored(tmp_path / "failed", {"naive": [IMPUTED, IMPUTED, 1.0, 1.0], "kg": right(4, 4)})
    (pair,) = compare_runs(failed, ComparisonChoice(("accuracy",))).measures[0].pairs
    assert (pair.n, pair.mean_a, pair.mean_b) == (4, 0.5, 1.0)


def test_a_measure_that_repeats_another_is_named_and_not_repeated(tmp_path: Path) -> None:
    same = dict.fromkeys(("accuracy", "em", "token_f1", "hallucination_rate"), right(3, 8))
    scores = {**same, "zz_f1": right(5, 8), "zz_f1_again": right(5, 8)}
    runs = scored(tmp_path, {"naive": scores, "kg": scores})
    comparison = compare_runs(runs)
    # Equal values that count in different ways are two.
    names = [one.measure.name for one in comparison.measures]
    assert names[:4] == ["accuracy", "hallucination_rate", "zz_f1", "latency_s"]
    assert "Not repeated: em, token_f1 (the values of accuracy in every run)." in comparison.notes
    assert "Not repeated: zz_f1_again (the values of zz_f1 in every run)." in comparison.notes
    wanted = ("zz_f1_again", "zz_f1")
    assert tuple(one.measure.name for one in compare_runs(runs, ComparisonChoice(wanted)).measures) == wanted


def test_one_type_of_query_can_be_compared_alone(tmp_path: Path) -> None:
    types = ("inference_query", "null_query")
    runs = scored(tmp_path, {"naive": right(40), "kg": right(10)}, types=types)
    for wanted in ("null_query", "null"):
        assert compare_runs(runs, ComparisonChoice(("accuracy",), wanted)).measures[0].pairs[0].n == 20
    with pytest.raises(ConfigError, match=r"no query has the type 'nul_quer': did you mean 'null_query'\?"):
        compare_runs(runs, ComparisonChoice(query_type="nul_quer"))


def test_with_one_run_to_compare_with_each_run_is_compared_with_it_alone(tmp_path: Path) -> None:
    naive, kg, community = three_runs(tmp_path)
    for named in ([kg, community], [naive, kg, community]):
        comparison = compare_runs(named, ComparisonChoice(("accuracy",), against=naive))
        pairs = [(comparison.label(pair.a), comparison.label(pair.b)) for pair in comparison.measures[0].pairs]
        assert pairs == [("kg", "naive"), ("community", "naive")]
        assert "each against naive" in shown(comparison)


def test_other_samples_are_paired_over_the_queries_that_they_share(tmp_path: Path) -> None:
    runs = []
    for name, numbers in (("naive", range(8)), ("kg", range(4, 10))):
        ids, texts = [f"q{number}" for number in numbers], {"q5": f"asked by {name}"}
        plan = ScoredRun(name, {"accuracy": right(3, len(ids))}, queries=ids, texts=texts, digest=name * 10)
        runs.append(write_run(tmp_path, plan))
    comparison = compare_runs(runs, ComparisonChoice(("accuracy",)))
    assert comparison.measures[0].pairs[0].n == 3
    (note,) = [note for note in comparison.notes if "samples" in note]
    assert note == (
        "naive and kg were made over other samples or documents: of 8 and 6 queries they are compared over the 3 "
        "of both (1 more has another text or reference)."
    )


def test_markup_and_control_characters_of_names_are_only_text(tmp_path: Path) -> None:
    scores = {f"{EVIL}{number}": {f"={EVIL}": right(count)} for number, count in enumerate((39, 5))}
    ids = [f"={EVIL}{place}" for place in range(40)]
    comparison = compare_runs(scored(tmp_path, scores, types=(EVIL,), queries=ids))
    text = shown(comparison, terminal=True)
    assert "[bold red]x[/]" in " ".join(text.split())
    files = [comparison_csv(comparison), differences_csv(comparison)]
    assert not any("\x1b" in one for one in (text, *files))
    cells = [cell for one in files for row in csv.reader(io.StringIO(one)) for cell in row]
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)


def row_of_documents(results: Path, cites: Sequence[str]) -> dict[str, str]:
    """Of a run that is right on the queries 0, 4, 8, ... against one that never is."""
    every_fourth = [float(number % 4 == 0) for number in range(40)]
    runs = scored(results, {"naive": every_fourth, "kg": right(0)}, cites=cites)
    (row,) = rows_of(compare_runs(runs, ComparisonChoice(("accuracy",))))
    return row


def test_a_result_says_for_which_documents_it_holds(tmp_path: Path) -> None:
    row = row_of_documents(tmp_path / "many", [f"d{number // 4}" for number in range(40)])
    assert (row["result"], row["population"], row["n_clusters"]) == ("a", "new documents", "10")
    assert float(row["clusters_ci_low"]) > 0
    # All that it got right cites one document.
    row = row_of_documents(tmp_path / "one", ["popular", "b", "c", "d"])
    assert (row["result"], row["population"], row["p_clusters"]) == ("a", "documents", "1")
    row = row_of_documents(tmp_path / "none", [])
    assert (row["result"], row["population"], row["p_clusters"]) == ("a", "queries", "")


def test_types_count_as_in_the_data_set_with_the_balanced_difference_beside_it(tmp_path: Path) -> None:
    alternating = [float(number % 2) for number in range(80)]
    scores = {"naive": alternating, "kg": [1.0 - value for value in alternating]}
    runs = scored(tmp_path, scores, types=("even", "odd"), type_mix={"even": 100, "odd": 900})
    comparison = compare_runs(runs, ComparisonChoice(("accuracy",)))
    (row,) = rows_of(comparison)
    assert (row["mean_a"], row["mean_b"], row["difference"]) == ("0.9", "0.1", "0.8")
    assert (row["mix"], row["test"], row["balanced_difference"], row["result"]) == ("natural", "flips", "0", "a")
    assert "balanced" in table_of(comparison, "pairs-accuracy").header
    (one_type,) = rows_of(compare_runs(runs, ComparisonChoice(("accuracy",), query_type="odd")))
    assert (one_type["difference"], one_type["test"]) == ("1", "mcnemar")


def test_an_unfinished_run_is_left_out_and_said_so(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path, ScoredRun(system=name, scores={"accuracy": right(count)}, finished=name != "kg"))
        for name, count in (("naive", 30), ("kg", 40), ("community", 20))
    ]
    comparison = compare_runs(runs)
    assert [one.label for one in comparison.runs] == ["naive", "community"]
    assert comparison.notes[0] == "kg is unfinished and not compared."
    with pytest.raises(ConfigError, match="kg is unfinished, and a comparison takes two finished runs"):
        compare_runs(runs[:2])
    with pytest.raises(ConfigError, match=r"kg, .* is unfinished"):
        compare_runs(runs, ComparisonChoice(against=runs[1]))


@pytest.mark.parametrize(
    ("a", "b", "margin", "expected"),
    [(62, 61, 5.0, "both"), (62, 61, 0.5, "neither"), (110, 60, 5.0, "a"), (60, 110, 5.0, "b")],
)
def test_as_good_means_that_the_interval_excludes_a_larger_difference(
    tmp_path: Path, a: int, b: int, margin: float, expected: str
) -> None:
    runs = scored(tmp_path, {"naive": right(a, 200), "kg": right(b, 200)})
    row, seconds = rows_of(compare_runs(runs, ComparisonChoice(("accuracy", "latency_s"), margin=margin)))
    assert (float(row["margin"]), row["as_good"]) == (margin, expected)
    # Points say nothing about seconds.
    assert seconds["as_good"] == ""


EVIDENCE = "fact_Recall@4000c"


def test_the_metric_that_ranks_in_a_report_comes_first(tmp_path: Path) -> None:
    searched = [
        ScoredRun(name, {"missed_evidence": right(40 - n), EVIDENCE: right(n)}, measure="accuracy")
        for name, n in (("naive", 30), ("kg", 34))
    ]
    keys: dict[str, Any] = {"gold": ("No", "No", "Yes", "a", "b", "No", "Yes", "c"), "cites": ("d1", "d2")}
    answered = [
        ScoredRun("naive", {"accuracy": right(2, 8), EVIDENCE: right(1, 8)}, **keys),
        ScoredRun("kg", {"accuracy": right(1, 8), EVIDENCE: right(8, 8)}, **keys),
        ScoredRun("gold", {"accuracy": right(4, 8)}, baseline="It is given the gold evidence.", **keys),
    ]
    for name, plans in (("searched", searched), ("answered", answered)):
        runs = [write_run(tmp_path / name, plan) for plan in plans]
        compared, group = compare_runs(runs), group_of(*runs)
        assert compared.main[0] == compared.measures[0].measure.name == find(group).measure == EVIDENCE
    assert len(compare_runs(runs, ComparisonChoice(("accuracy",))).measures) == 1


# The pairs of a report and of a comparison are the same; baselines and failing runs change none of them.


@pytest.fixture
def runs(tmp_path: Path) -> list[RunDir]:
    """Four systems; of some queries of each but the first a score failed."""
    found = []
    for place, name in enumerate(("naive", "kg", "community", "recursive")):
        f1: list[Value] = [(query * (place + 3) % 11) / 11 for query in range(40)]
        scores: dict[str, list[Value]] = {
            "accuracy": [float(query % (place + 2) > 0) for query in range(40)],
            "hallucination_rate": [float(query % 5 > place) for query in range(40)],
            "token_f1": [*[FAILED] * (6 * place), *f1[6 * place :]],
        }
        found.append(write_run(tmp_path, ScoredRun(name, scores, input_tokens=100 + 50 * place)))
    return found


def pair_tables(chapter: Chapter) -> dict[str, Table]:
    """Measure -> the report's table of all its pairs."""
    names = [one.measure.name for one in chapter.findings.ranking.comparisons]
    section = known(chapter.section("significance"))
    tables = {table.name: table for table in section.content.tables}
    assert {f"pairs-{name}" for name in names} == tables.keys() - {"significance", "leads"}
    return {name: tables[f"pairs-{name}"] for name in names}


@pytest.mark.parametrize("measure", ["accuracy", "hallucination_rate", "token_f1"])
def test_the_pairs_of_a_report_are_those_of_a_comparison(runs: list[RunDir], measure: str) -> None:
    chapter = chapter_of(*runs, measure=measure)
    pairs = {one.measure.name: one.pairs for one in chapter.findings.ranking.comparisons}
    compared = compare_runs(runs, ComparisonChoice(tuple(pairs)))
    assert measure in pairs
    assert {name: len(own) for name, own in pairs.items()} == dict.fromkeys(pair_tables(chapter), 6)
    assert pairs == {one.measure.name: one.pairs for one in compared.measures}


BASELINE = "Shown to read the others by."
FREE = {"generator": Usage(calls=1, input_tokens=1)}
COSTS = ("tokens", "latency_s", "wall_s", "input_tokens", "output_tokens", "usd")


def systems(results: Path, *counts: int) -> list[RunDir]:
    return scored(results, {f"s{number}": right(count) for number, count in enumerate(counts)})


def baselines(results: Path) -> list[RunDir]:
    return scored(results, {"closed-book": right(3), "gold": right(39)}, baseline=BASELINE)


def ranks_of(comparison: Comparison, measure: str) -> dict[object, object]:
    (table,) = [table for table in comparison_tables(comparison) if table.name == f"ranks-{measure}"]
    return {row[0]: row[1] for row in table.rows}


def failing_run(results: Path, n_failed: int) -> RunDir:
    """It takes nearly nothing, and of 40 queries the first fail."""
    values = [*[IMPUTED] * n_failed, *right(40 - n_failed)[n_failed:]]
    return scored(results, {"failing": values}, usage=FREE)[0]


def test_costs_of_a_run_that_fails_too_often_are_not_compared(tmp_path: Path) -> None:
    runs = [*systems(tmp_path, 30, 34), failing_run(tmp_path, 8)]
    comparison = compare_runs(runs)
    by_cost = [row for row in rows_of(comparison) if row["measure"] in COSTS]
    assert {(row["system_a"], row["system_b"]) for row in by_cost} == {("s0", "s1")}
    assert {row["family"] for row in by_cost} == {"1"}
    assert ranks_of(comparison, "tokens") == {"s0": rank(1, 2), "s1": rank(1, 2), "failing": None}
    # What it got right is compared as ever.
    assert len([row for row in rows_of(comparison) if row["measure"] == "accuracy"]) == 3
    why = "failing failed too often for its costs to be compared."
    assert why in comparison.notes
    assert why not in compare_runs(runs, ComparisonChoice(("accuracy",))).notes
    with pytest.raises(ConfigError, match="'tokens': failing failed too often"):
        compare_runs([runs[0], runs[2]], ComparisonChoice(("accuracy", "tokens")))


def test_costs_of_a_run_that_mostly_abstains_are_not_compared(tmp_path: Path) -> None:
    no = "Insufficient information."
    for name, said in (("most", (no, no, "Yes")), ("half", (no, "Yes"))):
        refusing = scored(tmp_path / name, {"refusing": right(0)}, usage=FREE, said=said)
        comparison = compare_runs([*systems(tmp_path / name, 30), *refusing])
        assert ("tokens" in {one.measure.name for one in comparison.measures}) is (name == "half")
        noted = any(note.startswith("refusing abstained on ") for note in comparison.notes)
        assert noted is (name == "most")


def test_failures_are_counted_among_the_queries_that_are_compared(tmp_path: Path) -> None:
    kinds = ("inference_query", "null_query")
    failed: list[Value] = [IMPUTED, 1.0] * 4
    scores = {name: [*own, *right(32, 32)] for name, own in (("s0", right(8, 8)), ("failing", failed))}
    runs = scored(tmp_path, scores, types=kinds)
    for kind, is_compared in (("inference", False), ("null", True), (None, False)):
        measures = {one.measure.name for one in compare_runs(runs, ComparisonChoice(query_type=kind)).measures}
        assert ("tokens" in measures) == is_compared, kind


def test_baselines_move_no_verdict_and_no_rank(tmp_path: Path) -> None:
    runs, marks = systems(tmp_path, 26, 34, 20), baselines(tmp_path)
    alone, beside = compare_runs(runs), compare_runs([marks[0], *runs, marks[1]])
    told = ("system_a", "system_b", "measure", "n", "p", "p_holm", "ci_low", "ci_high", "family", "result")
    competing = [row for row in rows_of(beside) if row["apart"] == "false"]
    assert [[row[name] for name in told] for row in competing] == [
        [row[name] for name in told] for row in rows_of(alone)
    ]
    by_accuracy = ranks_of(beside, "accuracy")
    assert {name: by_accuracy.pop(name) for name in ("closed-book", "gold")} == {"closed-book": None, "gold": None}
    assert by_accuracy == ranks_of(alone, "accuracy")


def test_pairs_with_a_baseline_stand_apart_in_a_family_of_their_own(tmp_path: Path) -> None:
    comparison = compare_runs([*systems(tmp_path, 26, 34), *baselines(tmp_path)], ComparisonChoice(("accuracy",)))
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


def test_a_baseline_has_its_mean_in_the_ranking_and_a_note_on_its_sample(tmp_path: Path) -> None:
    gold = ScoredRun(system="gold", scores={"accuracy": right(39)}, baseline=BASELINE, digest="e" * 64)
    runs = [*systems(tmp_path, 26, 34), write_run(tmp_path, gold)]
    comparison = compare_runs(runs, ComparisonChoice(("accuracy",)))
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
        comparison = compare_runs(named, choice)
        assert comparison.apart == ()
        assert {row["apart"] for row in rows_of(comparison)} == {"false"}


def test_a_comparison_of_two_runs_shows_the_interval_of_the_leaderboard(tmp_path: Path) -> None:
    cites = ["a", "b", "b", "c", "d", "d"]
    pair = scored(tmp_path, {"naive": right(11, 18), "kg": right(14, 18)}, cites=cites)
    (behind,) = [one.behind for one in chapter_of(*pair).findings.verdict.standings if one.system == "naive"]
    assert behind is not None
    shown = printed(lambda console: render_comparison(compare_runs(pair), console))
    gap = Quantity(behind.value, behind.low, behind.high, unit="points", signed=True)
    assert format_value(gap) in shown
