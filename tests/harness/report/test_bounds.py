"""Floor and ceiling: what a constant answer gets, how much room is left, and what ranks where there is none."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from paired_runs import ScoredRun, Value, write_run

from harness.display import format_value
from harness.report.chapter import load_chapters
from harness.report.view import Group, load_groups
from harness.report.words.findings import Findings, find
from harness.statistics.prices import load_prices

GOLD = "It is given the reference evidence: a ceiling for the systems, not one of them."
BLIND = "It sees no document: what the model knows by itself, a floor for the systems and not one of them."
PUBLISHED = ("No", "No", "Yes", "Insufficient information.", "Google", "No", "Yes", "Sam")
"""References of eight queries, three of them the same."""
NAMES = (*(f"name {number}" for number in range(98)), "Yes", "Yes")
EVIDENCE = "fact_Recall@1000c"
CITES = tuple(f"d{number}" for number in range(200))
"""A document for each query, so that they are independent draws."""


def right(count: int, n: int) -> Sequence[Value]:
    return [1.0] * count + [0.0] * (n - count)


def group_of(results: Path, *plans: ScoredRun) -> Group:
    (group,) = load_groups([write_run(results, plan) for plan in plans], load_prices())
    return group


def eight(system: str, count: int, baseline: str = "", evidence: Sequence[Value] = ()) -> ScoredRun:
    scores: dict[str, Sequence[Value]] = {"accuracy": right(count, 8)}
    if evidence:
        scores |= {EVIDENCE: evidence, "context_characters": [3000.0] * 8}
    return ScoredRun(system=system, scores=scores, gold=PUBLISHED, baseline=baseline, cites=CITES)


def said(findings: Findings) -> str:
    return "\n".join((findings.headline, *findings.sentences))


def test_the_best_constant_answer_has_a_line_and_no_rank(tmp_path: Path) -> None:
    group = group_of(tmp_path, *(eight(name, 1) for name in ("naive", "kg", "recursive")))
    findings = find(group)
    lines = findings.lines(group)
    assert [line.named for line in lines][-1] == "always 'No' (no run)"
    assert lines[-1].rank is None
    assert lines[-1].row is not None
    assert lines[-1].row.mean == pytest.approx(3 / 8)


def test_a_page_on_which_no_system_is_above_a_constant_answer_says_so_in_its_headline(tmp_path: Path) -> None:
    findings = find(group_of(tmp_path, *(eight(name, 1) for name in ("naive", "kg"))))
    assert "none above always 'No' (37.5 %)" in findings.headline
    alone = find(group_of(tmp_path / "alone", eight("naive", 1)))
    assert "not above always 'No' (37.5 %)" in alone.headline


def test_no_one_is_to_be_chosen_who_is_no_better_than_a_constant_answer(tmp_path: Path) -> None:
    plans = [
        ScoredRun(system=name, scores={"accuracy": right(count, 200)}, gold=("No", "No", "No", "Yes"))
        for name, count in (("naive", 40), ("kg", 120))
    ]
    findings = find(group_of(tmp_path, *plans))
    assert findings.headline.startswith(
        "kg is best in accuracy (60.0 % of 200 queries), none above always 'No' (75.0 %)"
    )


def test_the_floor_is_the_best_of_constant_and_closed_book(tmp_path: Path) -> None:
    findings = find(group_of(tmp_path, eight("naive", 7), eight("kg", 6), eight("closed-book", 5, BLIND)))
    assert findings.bounds.floor is not None
    assert findings.bounds.floor.label == "closed-book"
    assert findings.bounds.headroom is None


def test_where_the_ceiling_is_not_above_the_floor_accuracy_ranks_nothing(tmp_path: Path) -> None:
    findings = find(group_of(tmp_path, eight("naive", 1), eight("kg", 2), eight("gold", 4, GOLD)))
    assert findings.bounds.cannot_rank
    assert findings.headline.startswith("Accuracy cannot rank here (headroom 12.5 points (95 % interval ")
    assert findings.headline.endswith("so nothing is said of who is best.")
    assert "on these queries accuracy cannot say which system is better" in said(findings)


def test_of_queries_too_few_to_tell_anything_apart_it_is_said_and_no_headroom_denied(tmp_path: Path) -> None:
    runs = (("naive", 1, ""), ("kg", 2, ""), ("gold", 3, GOLD), ("closed-book", 1, BLIND))
    plans = [
        ScoredRun(
            system=name, scores={"accuracy": right(count, 3)}, gold=("a", "b", "c"), baseline=baseline, cites=CITES
        )
        for name, count, baseline in runs
    ]
    headline = find(group_of(tmp_path, *plans)).headline
    assert headline.startswith("3 queries are too few for accuracy to rank; ")


def test_where_accuracy_cannot_rank_evidence_at_equal_prompt_size_does(tmp_path: Path) -> None:
    plans = [
        eight("naive", 1, evidence=right(1, 8)),
        eight("kg", 2, evidence=right(8, 8)),
        eight("gold", 4, GOLD, right(8, 8)),
    ]
    group = group_of(tmp_path, *plans)
    findings = find(group)
    assert findings.measure == EVIDENCE
    assert "because accuracy cannot rank here" in said(findings)
    assert "; by recall of facts within 1,000 characters: " in findings.headline
    assert find(group, "accuracy").measure == "accuracy"


def test_evidence_beyond_what_a_run_has_in_its_prompt_does_not_rank(tmp_path: Path) -> None:
    short = eight("kg", 2, evidence=right(8, 8))
    plans = [
        eight("naive", 1, evidence=right(1, 8)),
        ScoredRun(
            system="kg", scores={**short.scores, "context_characters": [900.0] * 8}, gold=PUBLISHED, cites=CITES
        ),
        eight("gold", 4, GOLD, right(8, 8)),
    ]
    assert find(group_of(tmp_path, *plans)).measure == "accuracy"


def test_answers_from_evidence_are_no_ceiling_where_the_queries_come_without_evidence(tmp_path: Path) -> None:
    """Shown nothing, the model answers as without documents: accuracy may well rank."""
    plans = [
        ScoredRun(system=name, scores={"accuracy": right(count, 200)}, gold=NAMES, baseline=baseline)
        for name, count, baseline in (("naive", 90, ""), ("kg", 150, ""), ("gold", 10, GOLD))
    ]
    group = group_of(tmp_path, *plans)
    findings = find(group)
    assert findings.bounds.ceiling is None
    assert findings.headline.startswith("Choose kg: best in accuracy")
    told = [note for view in group.views for note in view.notes if "so it is no ceiling here" in note]
    assert [note[: note.index(":")] for note in told] == ["Of 200 answerable queries 0 have evidence in words"]


def test_with_room_between_floor_and_ceiling_accuracy_ranks(tmp_path: Path) -> None:
    plans = [
        ScoredRun(system=name, scores={"accuracy": right(count, 200)}, gold=NAMES, baseline=baseline, cites=CITES)
        for name, count, baseline in (("naive", 90, ""), ("kg", 150, ""), ("gold", 190, GOLD))
    ]
    findings = find(group_of(tmp_path, *plans))
    assert not findings.bounds.cannot_rank
    assert findings.headline.startswith("Choose kg: best in accuracy")
    assert "Headroom in accuracy, gold less always" in said(findings)


def test_the_leaderboard_ends_with_what_is_not_finished_behind_baselines_and_bounds(tmp_path: Path) -> None:
    plans = [
        ScoredRun(system="cut", scores={"accuracy": right(8, 8)}, gold=PUBLISHED, unfinished=4),
        eight("gold", 8, GOLD),
        eight("naive", 3),
        eight("kg", 4),
    ]
    (chapter,) = load_chapters([write_run(tmp_path, plan) for plan in plans], load_prices())
    board = next(table for table in chapter.tables() if table.name == "leaderboard")
    assert [row[0] for row in board.rows] == [
        "kg",
        "naive",
        "always 'No' (no run)",
        "gold (baseline)",
        "cut (not finished)",
    ]
    assert [format_value(row[1]) for row in board.rows][2:] == ["–"] * 3  # noqa: RUF001 - not known
