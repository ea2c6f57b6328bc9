"""Scores that do not belong together: of two judges, of answers that have changed, and of refused answers."""

from pathlib import Path

from paired_runs import IMPUTED, NOT_APPLICABLE, ScoredRun, Value, close_again, write_run
from records import known
from report_groups import chapter_of, group_of, right

from harness.core.records import Cost, EvaluationRecord
from harness.display import Quantity, Table, format_value
from harness.report.chapter import Chapter
from harness.report.comparison.compare import ComparisonChoice, compare_runs
from harness.report.figures.marks import runs_with
from harness.report.verdict.findings import find
from harness.report.verdict.types import Outcome
from harness.statistics.prices import load_prices
from harness.store import RunDir

JUDGED = "ragas_faithfulness"


def judged(results: Path, system: str, count: int, judge: str) -> RunDir:
    made = EvaluationRecord(
        evaluator="ragas",
        version="1",
        models={"judge": {"provider": "openai", "model": judge}},
        cost=Cost(wall_s=0.0),
    )
    return write_run(results, ScoredRun(system=system, scores={JUDGED: right(count)}, evaluator=made))


def runs_of(results: Path) -> list[RunDir]:
    """Two runs of a strict judge, one of a mild one."""
    counts = {"naive": (90, "strict"), "kg": (80, "strict"), "community": (190, "mild")}
    return [judged(results, name, *one) for name, one in counts.items()]


def rows_of(table: Table) -> dict[str, list[str]]:
    return {str(row[0]): [format_value(entry) for entry in row[1:]] for row in table.rows}


def test_scores_of_two_judges_share_no_row_figure_or_rank(tmp_path: Path) -> None:
    runs = runs_of(tmp_path)
    chapter = chapter_of(*runs, measure=JUDGED)
    assert chapter.findings.verdict.systems("not ranked") == ["community"]
    (by_type,) = [table for table in chapter.tables() if table.name == JUDGED]
    assert list(rows_of(by_type)) == ["naive", "kg", "community (scored otherwise)"]
    assert [view.label for view in runs_with(chapter.group, [JUDGED])] == ["naive", "kg"]
    others = chapter_of(*runs, measure="latency_s").tables()
    rows = next(found for table in others if JUDGED in (found := rows_of(table)))
    assert [cell.startswith("0.") for cell in rows[JUDGED]] == [True, True, False]
    assert [cell.startswith("0.") for cell in rows[f"{JUDGED}, scored otherwise"]] == [False, False, True]


def test_a_comparison_ranks_the_runs_of_one_judge_and_names_the_others(tmp_path: Path) -> None:
    runs = [*runs_of(tmp_path), judged(tmp_path, "recursive", 150, "mild"), judged(tmp_path, "gold", 85, "strict")]
    comparison = compare_runs(runs, load_prices(), ComparisonChoice((JUDGED,)))
    (compared,) = comparison.measures
    ranked = [run.label for run, mean in zip(comparison.runs, compared.means, strict=True) if mean is not None]
    assert sorted(ranked) == ["gold", "kg", "naive"]
    assert len(compared.pairs) == 3
    told = [note for note in comparison.notes if "was scored in another way" in note]
    assert [note.split()[1] for note in told] == ["community", "recursive"]


def test_a_failure_that_was_answered_since_is_no_longer_counted_as_the_worst(tmp_path: Path) -> None:
    failing = write_run(tmp_path, ScoredRun(system="naive", scores={"accuracy": [IMPUTED, *right(40)[1:]]}))
    other = write_run(tmp_path, ScoredRun(system="kg", scores={"accuracy": right(40)}))
    assert [view.label for view in find(group_of(failing, other)).ranking.entrants] == ["naive", "kg"]
    (first,) = [record for record in failing.records().values() if record.query_id == "q000"]
    answered = next(record for record in failing.records().values() if record.query_id == "q001")
    close_again(failing, answered.model_copy(update={"query_id": first.query_id, "attempt": 2}))
    findings = find(group_of(failing, other))
    assert [view.label for view in findings.ranking.entrants] == ["kg"]
    assert findings.verdict.systems("not ranked") == ["naive"]
    assert any("rag-harness evaluate" in caveat for caveat in findings.verdict.caveats)


N = 200
RELEVANCY = "ragas_response_relevancy"
HARD = range(0, 92)
"""Queries of which a careful system refuses each."""
REFUSAL = "I don't know."


def answered(system: str, *, refuses: bool) -> ScoredRun:
    """The same answers, right on all but the hard ones; refused or not where they are hard."""
    values: list[Value] = [0.3941 if number in HARD else 0.7648 for number in range(N)]
    said = ["Yes"] * N
    if refuses:
        for number in HARD:
            values[number], said[number] = NOT_APPLICABLE, REFUSAL
    made = EvaluationRecord(evaluator="ragas", version="1", cost=Cost(wall_s=0.0))
    return ScoredRun(system=system, scores={RELEVANCY: values}, said=said, evaluator=made)


def chapter_by(results: Path, *plans: ScoredRun, measure: str | None = None) -> Chapter:
    return chapter_of(*(write_run(results, plan) for plan in plans), measure=measure)


def table_of(chapter: Chapter) -> Table:
    return next(table for table in chapter.tables() if RELEVANCY in {row[0] for row in table.rows})


def bold_and_careful(results: Path, measure: str | None = None) -> Chapter:
    plans = (answered("bold", refuses=False), answered("careful", refuses=True))
    return chapter_by(results, *plans, ScoredRun(system="plain", scores={"accuracy": [1.0] * N}), measure=measure)


def test_means_over_other_queries_stand_beside_means_over_those_of_all_and_with_the_worst(tmp_path: Path) -> None:
    table = table_of(bold_and_careful(tmp_path))
    own, common, variant = (row for row in table.rows if str(row[0]).startswith(RELEVANCY))
    assert [format_value(entry).split(" (")[1:] for entry in own[1:3]] == [["n = 200)"], ["n = 108 of 200)"]]
    assert common[0] == f"{RELEVANCY}, on the 108 queries of all"
    bold, careful = (entry for entry in common[1:3] if isinstance(entry, Quantity))
    assert bold.value == careful.value
    assert str(variant[0]).startswith(f"{RELEVANCY}, abstained counts 0")
    assert "counts as the worst, which are shown and not tested" in table.note
    bold, careful = (entry for entry in variant[1:3] if isinstance(entry, Quantity))
    assert abs(known(careful.value) - 108 * 0.7648 / N) < 1e-9
    assert known(careful.value) < known(bold.value)


def test_a_right_refusal_is_not_counted_against_a_system(tmp_path: Path) -> None:
    plans = []
    for system, refuses in (("bold", False), ("careful", True)):
        plan = answered(system, refuses=refuses)
        plan.gold = ["Insufficient information." if number in HARD else f"a{number}" for number in range(N)]
        plans.append(plan)
    names = {str(row[0]) for row in table_of(chapter_by(tmp_path, *plans, measure="latency_s")).rows}
    assert f"{RELEVANCY}, on the 108 queries of all" in names
    assert not [name for name in names if "abstained counts" in name]


def test_where_such_a_measure_ranks_a_refused_query_is_a_missing_value(tmp_path: Path) -> None:
    found = bold_and_careful(tmp_path, RELEVANCY).findings.verdict
    assert found.outcome == Outcome.INCONCLUSIVE
    assert {one.system: (one.n_missing, one.n) for one in found.standings if one.score} == {
        "bold": (0, 200),
        "careful": (92, 200),
    }


def test_a_measure_of_which_every_answer_has_a_value_has_one_row(tmp_path: Path) -> None:
    plans = [answered(name, refuses=False) for name in ("bold", "careful")]
    names = [row[0] for row in table_of(chapter_by(tmp_path, *plans, measure="latency_s")).rows]
    assert names.count(RELEVANCY) == len([name for name in names if str(name).startswith(RELEVANCY)])


def test_who_refuses_most_of_what_has_an_answer_is_called_neither_cheap_nor_fast(tmp_path: Path) -> None:
    right = [1.0] * 6
    bold = ScoredRun(system="bold", scores={"accuracy": right}, said=["Yes"] * 6, input_tokens=900)
    plain = ScoredRun(system="plain", scores={"accuracy": right}, said=["Yes"] * 6, input_tokens=1_800)
    silent = [*[0.0] * 5, 1.0]
    shy = ScoredRun(system="shy", scores={"accuracy": silent}, said=[*[REFUSAL] * 5, "Yes"], input_tokens=9)
    found = chapter_by(tmp_path, bold, plain, shy).findings.verdict
    assert found.recommended == "bold"
    assert found.cheaper is None
