"""Which measure ranks: by name, by config, by data set, or what is left; and what is said where nothing can."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from paired_runs import FAILED, IMPUTED, NOT_APPLICABLE, ScoredRun, Value, close_again, write_run
from records import known
from report_groups import chapter_of, group_of, right, scored

from harness.cli.report import ReportOptions
from harness.core.errors import ConfigError
from harness.core.records import Cost, EvaluationRecord
from harness.display import Quantity, Table, format_value
from harness.registry import EVALUATORS
from harness.report.chapter import Chapter, load_chapters
from harness.report.comparison.compare import ComparisonChoice
from harness.report.figures.marks import runs_with
from harness.report.measures import known_measures
from harness.report.verdict.findings import compare_runs, find
from harness.report.verdict.headline import advice
from harness.report.verdict.types import Outcome
from harness.statistics.prices import load_prices
from harness.store import RunDir

N = 40
EVIDENCE = "fact_Recall@4000c"


def share(count: int) -> Sequence[Value]:
    return right(count, N)


BOTH: Mapping[str, Mapping[str, Sequence[Value]]] = {
    "naive": {"accuracy": share(10), "token_f1": share(30), "em": share(5)},
    "kg": {"accuracy": share(30), "token_f1": share(10), "em": share(5)},
}
NOTHING: Sequence[Value] = [NOT_APPLICABLE] * N
DESCRIBED = {
    "context_characters": [1900.0] * 20 + [2500.0] * 20,
    "contexts_shown": [10.0] * N,
    **dict.fromkeys(("accuracy", "fact_AllHit@1000c", "fact_AllHit@2000c"), NOTHING),
}
"""Scores that say which of two runs has longer contexts."""


def judged(results: Path, counts: Mapping[str, int], **made: object) -> list[RunDir]:
    record = EvaluationRecord.model_validate(
        {"evaluator": "ragas", "version": "1", "cost": Cost(wall_s=0.0), "measures": (), **made}
    )
    scores = {name: {"ragas_faithfulness": share(count)} for name, count in counts.items()}
    return scored(results, scores, evaluator=record)


def order(chapter: Chapter) -> list[tuple[str, str]]:
    return [(one.system, one.status) for one in chapter.findings.verdict.standings]


@pytest.mark.parametrize(
    ("keys", "asked", "best", "measure", "reason"),
    [
        ({"dataset": "demo"}, None, "kg", "accuracy", "data set"),
        ({"dataset": "uda_qa"}, None, "naive", "token_f1", "data set"),
        ({"measure": "token_f1"}, None, "naive", "token_f1", "configs"),
        ({"measure": "token_f1"}, "accuracy", "kg", "accuracy", "asked"),
        ({"dataset": "nobody-knows-it"}, None, "kg", "accuracy", "neither"),
        ({"measure": "em"}, "latency_s", "naive", "latency_s", "asked"),
        ({"measure": "ragas_faithfulness"}, None, "kg", "accuracy", "faithfulness"),
        # The run says what its data set said then.
        ({"primary_measure": "em"}, None, "naive", "em", "data set"),
    ],
)
def test_the_metric_that_ranks_is_named_with_its_reason(
    tmp_path: Path, keys: dict[str, Any], asked: str | None, best: str, measure: str, reason: str
) -> None:
    found = chapter_of(*scored(tmp_path, BOTH, **keys), measure=asked).findings
    assert (found.measure, found.verdict.recommended) == (measure, best)
    assert reason in found.ranking.reason


def test_configs_that_disagree_leave_it_to_the_data_set(tmp_path: Path) -> None:
    naive = scored(tmp_path, {"naive": BOTH["naive"]}, measure="token_f1")
    assert chapter_of(*naive, *scored(tmp_path, {"kg": BOTH["kg"]}, measure="em")).findings.measure == "accuracy"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"weights": {"parser": "a" * 64}}, {"weights": {"parser": "b" * 64}}),
        ({"params": {"k": 1}}, {"params": {"k": 2}}),
        ({"version": "1"}, {"version": "2"}),
    ],
)
def test_runs_that_were_scored_in_other_ways_are_not_comparable(
    tmp_path: Path, one: dict[str, object], other: dict[str, object]
) -> None:
    naive, kg = *judged(tmp_path, {"naive": 10}, **one), *judged(tmp_path, {"kg": 30}, **other)
    two = chapter_of(naive, kg)
    assert two.findings.ranking.comparisons == ()
    for notes in (two.group.notes, compare_runs([naive, kg], load_prices()).notes):
        assert any("ragas" in note and "--set" in note for note in notes)
    by_cost = compare_runs([naive, kg], load_prices(), ComparisonChoice(("usd",)))
    assert not any("ways" in note for note in by_cost.notes)
    found = find(group_of(naive, kg, *judged(tmp_path, {"gold": 35}, **one))).verdict
    assert (found.recommended, found.systems("not ranked")) == ("gold", ["kg"])


def test_titles_that_two_evaluators_share_name_the_evaluator(tmp_path: Path) -> None:
    both = {"ragas_faithfulness": share(30), "triplet_faithfulness": share(20)}
    chapter = chapter_of(*scored(tmp_path, {"naive": both}), measure="triplet_faithfulness")
    assert chapter.findings.verdict.metric_title == "faithfulness (triplet)"
    alone = chapter_of(*scored(tmp_path / "alone", {"naive": {"ragas_faithfulness": share(30)}}))
    assert alone.findings.verdict.metric_title == "faithfulness"


def test_metrics_that_need_no_model_come_before_those_that_do() -> None:
    needs_model = {
        measure.name: bool(spec.roles or spec.weights)
        for spec in EVALUATORS.load_all()[0]
        for measure in spec.measures(spec.params())
    }
    in_order = [needs_model[name] for name in known_measures(())]
    assert True in in_order
    assert in_order == sorted(in_order)


def test_where_lower_is_better_the_lowest_is_first(tmp_path: Path) -> None:
    scores = {
        "naive": {"accuracy": share(38), "hallucination_rate": share(30)},
        "kg": {"accuracy": share(10), "hallucination_rate": share(2)},
    }
    runs = scored(tmp_path, scores)
    chapter = chapter_of(*runs, measure="hallucination_rate")
    assert order(chapter) == [("kg", "recommended"), ("naive", "worse")]
    first = chapter.findings.ranking.comparisons[0]
    assert (first.measure.name, first.measure.higher_is_better) == ("hallucination_rate", False)
    assert order(chapter_of(*runs, measure="accuracy")) == [("naive", "recommended"), ("kg", "worse")]


def test_a_run_without_the_chosen_measure_stands_last_without_a_rank(tmp_path: Path) -> None:
    others = {"naive": share(35), "broken": [FAILED] * N, "kg": share(5)}
    scores = {name: {"accuracy": share(20), "token_f1": own} for name, own in others.items()}
    runs = scored(tmp_path, {"community": share(40), **scores})
    chapter = chapter_of(*runs, measure="token_f1")
    assert order(chapter) == [
        ("naive", "recommended"),
        ("kg", "worse"),
        ("community", "not ranked"),
        ("broken", "not ranked"),
    ]
    assert [run.label for run in chapter.findings.ranking.entrants] == ["naive", "kg"]
    alone = chapter_of(*runs[:2], measure="token_f1").findings
    assert (alone.measure, alone.ranking.comparisons) == ("token_f1", ())


@pytest.mark.parametrize(
    ("scores", "wanted", "said"),
    [
        (BOTH, "acuracy", r"no run over demo has a value of 'acuracy': did you mean 'accuracy'\?"),
        ({"naive": {"strange": share(3)}}, "strange", "'strange' cannot rank"),
        ({"naive": DESCRIBED}, "context_characters", "'context_characters' cannot rank"),
    ],
)
def test_a_measure_that_cannot_rank_is_refused_in_one_line(
    tmp_path: Path, scores: Mapping[str, Any], wanted: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        chapter_of(*scored(tmp_path, scores), measure=wanted)


def test_the_runs_of_another_data_set_must_have_it_too(tmp_path: Path) -> None:
    runs = scored(tmp_path, {"naive": {"token_f1": share(9)}})
    runs += scored(tmp_path, {"naive": share(9)}, dataset="ms_marco", digest="e" * 64)
    with pytest.raises(ConfigError, match=r"no run over ms_marco has a value of 'token_f1'"):
        load_chapters(runs, load_prices(), "token_f1")


@pytest.mark.parametrize(("gold", "said"), [(("",), "neither answers nor evidence"), ((), "")])
def test_metrics_without_a_direction_rank_nothing(tmp_path: Path, gold: tuple[str, ...], said: str) -> None:
    longer = {**DESCRIBED, "context_characters": [1400.0] * N}
    runs = scored(tmp_path, {"naive": DESCRIBED, "kg": longer}, gold=gold)
    findings = find(group_of(*runs))
    assert (findings.verdict.outcome, findings.measure) == (Outcome.NOT_SCORED, None)
    assert said in findings.verdict.headline
    (shown,) = [
        one for one in compare_runs(runs, load_prices()).measures if one.measure.name == "context_characters"
    ]
    assert not shown.ranks
    assert [shown.verdict(pair) for pair in shown.pairs] == ["differ"]
    # Where a metric has no value, evaluating again would give none.
    verdict = find(group_of(*scored(tmp_path / "none", dict.fromkeys(BOTH, NOTHING)))).verdict
    assert verdict.outcome == Outcome.NOT_SCORED
    assert "rag-harness evaluate" not in verdict.headline


def test_a_report_by_another_metric_leaves_the_first_one_as_it_was(tmp_path: Path) -> None:
    runs = scored(tmp_path, {"naive": right(9, 20), "kg": right(5, 20)})
    shown = [ReportOptions(None, tmp_path, measure=measure) for measure in (None, "accuracy", "latency_s")]
    shown += [ReportOptions(None, tmp_path, margin=margin) for margin in (0.0, 5.0)]
    assert len({one.folder(runs) for one in shown}) == len(shown)
    assert shown[0].folder(runs) == ReportOptions(None, tmp_path, full=True).folder(runs[::-1])


def test_two_files_that_number_their_questions_alike_are_no_look_at_each_other(tmp_path: Path) -> None:
    for n, gold in ((20, "Tuesday"), (N, "Friday")):
        plans = [
            ScoredRun(name, {"accuracy": right(count, n)}, gold=(gold,), digest=f"{n:064d}", name=f"{name}-{n}")
            for name, count in (("naive", n // 2), ("kg", n // 4))
        ]
        ranking = find(group_of(*(write_run(tmp_path, plan) for plan in plans))).ranking
    assert ranking.earlier_looks == set()


@pytest.mark.parametrize(("n", "is_shown"), [(1, False), (30, True)])
def test_a_metric_that_applies_to_a_few_queries_is_no_column_beside_a_score_of_all(
    tmp_path: Path, n: int, is_shown: bool
) -> None:
    stand_in: Sequence[Value] = [*[0.0] * n, *[NOT_APPLICABLE] * (N - n)]
    scores = {EVIDENCE: share(N), "answer_Hit@4000c": stand_in}
    chapter = chapter_of(*scored(tmp_path, {"naive": scores, "kg": scores}), measure=EVIDENCE)
    for standing in chapter.findings.verdict.standings:
        assert ("expected answer in context" in standing.columns) is is_shown


# Scores that do not belong together: of two judges, of answers that have changed, of refused answers.


JUDGED = "ragas_faithfulness"


def judged_by(results: Path, system: str, count: int, judge: str) -> RunDir:
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
    return [judged_by(results, name, *one) for name, one in counts.items()]


def rows_of(table: Table) -> dict[str, list[str]]:
    return {str(row[0]): [format_value(entry) for entry in row[1:]] for row in table.rows}


def test_scores_of_two_judges_share_no_row_figure_or_rank(tmp_path: Path) -> None:
    runs = runs_of(tmp_path)
    chapter = chapter_of(*runs, measure=JUDGED)
    assert chapter.findings.verdict.systems("not ranked") == ["community"]
    (by_type,) = [table for table in chapter.tables() if table.name == JUDGED]
    assert list(rows_of(by_type)) == ["naive", "kg", "community (scored in another way)"]
    assert [view.label for view in runs_with(chapter.group, [JUDGED])] == ["naive", "kg"]
    others = chapter_of(*runs, measure="latency_s").tables()
    rows = next(found for table in others if JUDGED in (found := rows_of(table)))
    assert [cell.startswith("0.") for cell in rows[JUDGED]] == [True, True, False]
    assert [cell.startswith("0.") for cell in rows[f"{JUDGED}, scored in another way"]] == [False, False, True]


def test_a_better_score_of_another_judge_is_mentioned_in_the_verdict(tmp_path: Path) -> None:
    found = chapter_of(*runs_of(tmp_path), measure=JUDGED).findings.verdict
    assert (found.recommended, found.systems("not ranked")) == ("naive", ["community"])
    assert "community" in found.headline
    assert advice(found) == ""


def test_a_comparison_ranks_the_runs_of_one_judge_and_names_the_others(tmp_path: Path) -> None:
    runs = [
        *runs_of(tmp_path),
        judged_by(tmp_path, "recursive", 150, "mild"),
        judged_by(tmp_path, "gold", 85, "strict"),
    ]
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


ALL = 200
RELEVANCY = "ragas_response_relevancy"
HARD = range(0, 92)
"""Queries of which a careful system refuses each."""
REFUSAL = "I don't know."


def answered(system: str, *, refuses: bool) -> ScoredRun:
    """The same answers, right on all but the hard ones; refused or not where they are hard."""
    values: list[Value] = [0.3941 if number in HARD else 0.7648 for number in range(ALL)]
    said = ["Yes"] * ALL
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
    return chapter_by(
        results, *plans, ScoredRun(system="plain", scores={"accuracy": [1.0] * ALL}), measure=measure
    )


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
    assert abs(known(careful.value) - 108 * 0.7648 / ALL) < 1e-9
    assert known(careful.value) < known(bold.value)


def test_a_right_refusal_is_not_counted_against_a_system(tmp_path: Path) -> None:
    plans = []
    for system, refuses in (("bold", False), ("careful", True)):
        plan = answered(system, refuses=refuses)
        plan.gold = ["Insufficient information." if number in HARD else f"a{number}" for number in range(ALL)]
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


def test_a_measure_with_a_value_for_every_answer_has_one_row(tmp_path: Path) -> None:
    plans = [answered(name, refuses=False) for name in ("bold", "careful")]
    names = [row[0] for row in table_of(chapter_by(tmp_path, *plans, measure="latency_s")).rows]
    assert names.count(RELEVANCY) == len([name for name in names if str(name).startswith(RELEVANCY)])


def test_a_run_that_mostly_abstains_is_called_neither_cheap_nor_fast(tmp_path: Path) -> None:
    right = [1.0] * 6
    bold = ScoredRun(system="bold", scores={"accuracy": right}, said=["Yes"] * 6, input_tokens=900)
    plain = ScoredRun(system="plain", scores={"accuracy": right}, said=["Yes"] * 6, input_tokens=1_800)
    silent = [*[0.0] * 5, 1.0]
    shy = ScoredRun(system="shy", scores={"accuracy": silent}, said=[*[REFUSAL] * 5, "Yes"], input_tokens=9)
    found = chapter_by(tmp_path, bold, plain, shy).findings.verdict
    assert found.recommended == "bold"
    assert found.cheaper is None
