"""Scores that do not belong together: of two judges, and of answers that have changed since."""

from pathlib import Path

from paired_runs import IMPUTED, ScoredRun, close_again, write_run
from report_groups import group_of, right

from harness.core.records import Cost, EvaluationRecord
from harness.display import Table, format_value
from harness.report.chapter import Chapter, load_chapters
from harness.report.comparison.compare import Choice, compare_runs
from harness.report.figures.marks import runs_with
from harness.report.verdict.findings import find
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


def chapter_of(runs: list[RunDir], measure: str = JUDGED) -> Chapter:
    return load_chapters(runs, load_prices(), measure)[0]


def rows_of(table: Table) -> dict[str, list[str]]:
    return {str(row[0]): [format_value(entry) for entry in row[1:]] for row in table.rows}


def test_the_leaderboard_says_who_was_scored_otherwise(tmp_path: Path) -> None:
    chapter = chapter_of(runs_of(tmp_path))
    assert chapter.findings.verdict.systems("not ranked") == ["community"]
    (by_type,) = [table for table in chapter.tables() if table.name == JUDGED]
    assert list(rows_of(by_type)) == ["naive", "kg", "community (scored otherwise)"]


def test_a_table_of_measures_has_a_row_for_each_way_of_scoring(tmp_path: Path) -> None:
    runs = runs_of(tmp_path)
    chapter = chapter_of(runs, "latency_s")
    rows = next(found for table in chapter.tables() if JUDGED in (found := rows_of(table)))
    assert [bool(cell.startswith("0.")) for cell in rows[JUDGED]] == [True, True, False]
    other = rows[f"{JUDGED}, scored otherwise"]
    assert [bool(cell.startswith("0.")) for cell in other] == [False, False, True]


def test_no_figure_draws_scores_of_two_judges(tmp_path: Path) -> None:
    (group,) = [chapter_of(runs_of(tmp_path)).group]
    assert [view.label for _, view in runs_with(group, [JUDGED])] == ["naive", "kg"]


def test_a_comparison_ranks_the_runs_of_one_judge_and_names_the_others(tmp_path: Path) -> None:
    runs = [*runs_of(tmp_path), judged(tmp_path, "recursive", 150, "mild"), judged(tmp_path, "gold", 85, "strict")]
    comparison = compare_runs(runs, load_prices(), Choice((JUDGED,)))
    (compared,) = comparison.measures
    labels = [one.label for one in comparison.runs]
    assert {labels[place] for place, mean in enumerate(compared.means) if mean is not None} == {
        "naive",
        "kg",
        "gold",
    }
    assert len(compared.pairs) == 3
    told = [note for note in comparison.notes if "was scored in another way" in note]
    assert [note.split()[1] for note in told] == ["community", "recursive"]


def test_a_failure_that_was_answered_since_is_no_longer_counted_as_the_worst(tmp_path: Path) -> None:
    failing = write_run(tmp_path, ScoredRun(system="naive", scores={"accuracy": [IMPUTED, *right(40)[1:]]}))
    other = write_run(tmp_path, ScoredRun(system="kg", scores={"accuracy": right(40)}))
    assert find(group_of(failing, other)).entrants == (0, 1)
    (first,) = [record for record in failing.records().values() if record.query_id == "q000"]
    answered = next(record for record in failing.records().values() if record.query_id == "q001")
    close_again(failing, answered.model_copy(update={"query_id": first.query_id, "attempt": 2}))
    findings = find(group_of(failing, other))
    assert findings.entrants == (1,)
    assert findings.verdict.systems("not ranked") == ["naive"]
    assert any("rag-harness evaluate" in caveat for caveat in findings.verdict.caveats)
