"""The section of a report on labelled runs: judges corrected where there are enough labels, or why not."""

from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from labelled_runs import keep_labels
from paired_runs import IMPUTED, NOT_APPLICABLE, ScoredRun, Value, write_run
from report_groups import group_of

from harness.core.records import Cost, EvaluationRecord
from harness.display import Content
from harness.extensions.annotation.section import SPEC, content
from harness.report.chapter import sections_of
from harness.report.sections import Reported
from harness.report.verdict.findings import find
from harness.store import RunDir

MEASURE = "ragas_faithfulness"
JUDGED = EvaluationRecord(evaluator="ragas", version="1", cost=Cost(wall_s=0.0))


NOTHING = (None, None, None, None)


def judged_run(results: Path, values: list[Value]) -> RunDir:
    return write_run(results, ScoredRun(scores={MEASURE: values}, evaluator=JUDGED))


def values(n: int) -> list[Value]:
    """What the judge says: 0, 0.25 and so on to 1, in turn."""
    return [number % 5 / 4 for number in range(n)]


def grade(run: RunDir, numbers: range, label: Callable[[int], int] | None = None, name: str = "ada") -> None:
    labels = {f"q{number:03d}": label(number) if label else 1 + number % 5 for number in numbers}
    keep_labels(run, name, "faithfulness", labels)


def section(run: RunDir) -> tuple[Content, list[tuple[Any, ...]]]:
    """The section, and value, low, high and `of` of each cell of its only row."""
    group = group_of(run)
    said = content(Reported(group, find(group)))
    cells = said.tables[0].rows[0] if said.tables else ()
    return said, [tuple(getattr(one, name, None) for name in ("value", "low", "high", "of")) for one in cells]


def test_a_judge_that_is_too_kind_is_corrected_by_fifty_labels(tmp_path: Path) -> None:
    run = judged_run(tmp_path, values(200))
    assert section(run)[0] == Content(), "without labels there is no section"
    # One less than the judge says, where there is one less; every fifth is the lowest in any case.
    grade(run, range(60), lambda n: max(1, n % 5))
    _, _, scored, n, alone, both, weight = section(run)[1]
    assert scored[0] == pytest.approx(0.5)
    assert (n[0], n[3]) == (60, 200)
    assert both[0] == pytest.approx(fmean((max(1, number % 5) - 1) / 4 for number in range(5)))
    assert both[2] < alone[2] < 0.5 < weight[0] <= 1


def test_the_mean_of_fewer_labels_is_shown_alone(tmp_path: Path) -> None:
    run = judged_run(tmp_path, values(200))
    grade(run, range(30))
    said, (*_, alone, both, weight) = section(run)
    assert alone[1] is not None
    assert (both, weight) == (NOTHING, NOTHING)
    assert "Fewer than 50 labels" in said.items[0]


def test_a_query_that_failed_counts_as_the_worst(tmp_path: Path) -> None:
    run = judged_run(tmp_path, [*values(100), *[IMPUTED] * 100])
    grade(run, range(60))
    _, _, scored, n, _, both, _ = section(run)[1]
    assert scored[0] == both[0] == pytest.approx(0.25)
    assert n[3] == 100


def test_labelled_answers_without_a_score_are_counted(tmp_path: Path) -> None:
    run = judged_run(tmp_path, [*values(80), *[NOT_APPLICABLE] * 20])
    grade(run, range(20, 90))
    assert any("10 labelled answers without a score" in line for line in section(run)[0].items)


def test_labels_of_two_annotators_of_an_answer_are_averaged(tmp_path: Path) -> None:
    run = judged_run(tmp_path, values(100))
    grade(run, range(60), lambda _: 1)
    grade(run, range(60), lambda _: 5, "grace")
    said, (*_, n, alone, _, _) = section(run)
    assert (n[0], alone[0]) == (60, 0.5)
    assert said.paragraphs == ["60 answers labelled by ada, grace."]


def test_the_report_has_it_by_its_entry_point(tmp_path: Path) -> None:
    ordered, refused = sections_of(group_of(judged_run(tmp_path, values(20))))
    assert SPEC.name in [spec.name for spec in ordered]
    assert refused == []
