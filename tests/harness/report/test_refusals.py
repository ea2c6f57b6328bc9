"""Measures that say nothing of a refused answer: over how many queries a mean is, and what may be compared."""

from pathlib import Path

from paired_runs import NOT_APPLICABLE, ScoredRun, Value, write_run

from harness.core.records import Cost, EvaluationRecord
from harness.display import Quantity, Table, format_value
from harness.report.chapter import Chapter, load_chapters
from harness.report.verdict.types import Outcome
from harness.statistics.prices import load_prices

N = 200
JUDGED = "ragas_response_relevancy"
HARD = range(0, 92)
"""Queries of which a careful system refuses each."""
REFUSAL = "I don't know."


def judged(system: str, *, refuses: bool) -> ScoredRun:
    """The same answers, right on all but the hard ones; refused or not where they are hard."""
    values: list[Value] = [0.3941 if number in HARD else 0.7648 for number in range(N)]
    said = ["Yes"] * N
    if refuses:
        for number in HARD:
            values[number], said[number] = NOT_APPLICABLE, REFUSAL
    made = EvaluationRecord(evaluator="ragas", version="1", cost=Cost(wall_s=0.0))
    return ScoredRun(system=system, scores={JUDGED: values}, said=said, evaluator=made)


def chapter_of(results: Path, *plans: ScoredRun, measure: str | None = None) -> Chapter:
    (chapter,) = load_chapters([write_run(results, plan) for plan in plans], load_prices(), measure)
    return chapter


def table_of(chapter: Chapter) -> Table:
    return next(table for table in chapter.tables() if JUDGED in {row[0] for row in table.rows})


def bold_and_careful(results: Path, measure: str | None = None) -> Chapter:
    plans = (judged("bold", refuses=False), judged("careful", refuses=True))
    return chapter_of(results, *plans, ScoredRun(system="plain", scores={"accuracy": [1.0] * N}), measure=measure)


def test_a_mean_over_other_queries_says_over_how_many_of_how_many(tmp_path: Path) -> None:
    table = table_of(bold_and_careful(tmp_path))
    (own,) = [row for row in table.rows if row[0] == JUDGED]
    assert [format_value(entry).split(" (")[1:] for entry in own[1:3]] == [["n = 200)"], ["n = 108 of 200)"]]


def test_refusing_what_is_hard_gains_nothing_on_the_queries_that_all_have(tmp_path: Path) -> None:
    table = table_of(bold_and_careful(tmp_path))
    (common,) = [row for row in table.rows if row[0] == f"{JUDGED}, on the 108 queries of all"]
    bold, careful = (entry for entry in common[1:3] if isinstance(entry, Quantity))
    assert bold.value == careful.value


def test_a_refused_query_that_has_an_answer_counts_as_the_worst_in_the_variant(tmp_path: Path) -> None:
    table = table_of(bold_and_careful(tmp_path))
    (variant,) = [row for row in table.rows if str(row[0]).startswith(f"{JUDGED}, refused counts 0")]
    bold, careful = (entry for entry in variant[1:3] if isinstance(entry, Quantity))
    assert careful.value is not None
    assert bold.value is not None
    assert abs(careful.value - 108 * 0.7648 / N) < 1e-9
    assert careful.value < bold.value


def test_it_is_said_that_the_variant_is_not_tested(tmp_path: Path) -> None:
    note = table_of(bold_and_careful(tmp_path)).note
    assert "counts as the worst, which are shown and not tested" in note


def test_a_right_refusal_is_not_counted_against_a_system(tmp_path: Path) -> None:
    plans = []
    for system, refuses in (("bold", False), ("careful", True)):
        plan = judged(system, refuses=refuses)
        plan.gold = ["Insufficient information." if number in HARD else f"a{number}" for number in range(N)]
        plans.append(plan)
    names = {str(row[0]) for row in table_of(chapter_of(tmp_path, *plans, measure="latency_s")).rows}
    assert f"{JUDGED}, on the 108 queries of all" in names
    assert not [name for name in names if "refused counts" in name]


def test_where_such_a_measure_ranks_a_refused_query_is_a_missing_value(tmp_path: Path) -> None:
    found = bold_and_careful(tmp_path, JUDGED).findings.verdict
    assert found.outcome == Outcome.INCONCLUSIVE
    assert {one.system: (one.n_missing, one.n) for one in found.standings if one.score} == {
        "bold": (0, 200),
        "careful": (92, 200),
    }


def test_a_measure_of_which_every_answer_has_a_value_has_one_row(tmp_path: Path) -> None:
    plans = [judged(name, refuses=False) for name in ("bold", "careful")]
    names = [row[0] for row in table_of(chapter_of(tmp_path, *plans, measure="latency_s")).rows]
    assert names.count(JUDGED) == len([name for name in names if str(name).startswith(JUDGED)])


def test_who_refuses_most_of_what_has_an_answer_is_called_neither_cheap_nor_fast(tmp_path: Path) -> None:
    right = [1.0] * 6
    bold = ScoredRun(system="bold", scores={"accuracy": right}, said=["Yes"] * 6, input_tokens=900)
    plain = ScoredRun(system="plain", scores={"accuracy": right}, said=["Yes"] * 6, input_tokens=1_800)
    silent = [*[0.0] * 5, 1.0]
    shy = ScoredRun(system="shy", scores={"accuracy": silent}, said=[*[REFUSAL] * 5, "Yes"], input_tokens=9)
    found = chapter_of(tmp_path, bold, plain, shy).findings.verdict
    assert found.recommended == "bold"
    assert found.cheaper is None
