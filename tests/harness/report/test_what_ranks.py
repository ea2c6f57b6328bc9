"""Which measure ranks: by name, by config, by data set, or what is left; and what is said where nothing can."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from paired_runs import FAILED, NOT_APPLICABLE, ScoredRun, Value, write_run
from records import known
from report_groups import chapter_of, group_of, right, scored

from harness.cli.report import ReportOptions
from harness.core.errors import ConfigError
from harness.core.records import Cost, EvaluationRecord
from harness.registry import EVALUATORS
from harness.report.chapter import Chapter, load_chapters
from harness.report.comparison.compare import ComparisonChoice, compare_runs
from harness.report.measures import known_measures
from harness.report.verdict.findings import find
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
    assert two.findings.ranking.comparison is None
    for notes in (two.group.notes, compare_runs([naive, kg], load_prices()).notes):
        assert any("ragas scored these runs in 2 ways" in note for note in notes)
    by_cost = compare_runs([naive, kg], load_prices(), ComparisonChoice(("usd",)))
    assert not any("ways" in note for note in by_cost.notes)
    found = find(group_of(naive, kg, *judged(tmp_path, {"gold": 35}, **one))).verdict
    assert (found.recommended, found.systems("not ranked")) == ("gold", ["kg"])


def test_titles_that_two_evaluators_share_say_whose_they_are(tmp_path: Path) -> None:
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
    first = known(chapter.findings.ranking.comparison).measures[0]
    assert (first.measure.name, first.measure.higher_is_better) == ("hallucination_rate", False)
    assert order(chapter_of(*runs, measure="accuracy")) == [("naive", "recommended"), ("kg", "worse")]


def test_a_cost_ranks_the_cheapest_first_and_is_no_share(tmp_path: Path) -> None:
    runs = [*scored(tmp_path, {"naive": share(20)}, input_tokens=900), *scored(tmp_path, {"kg": share(20)})]
    found = chapter_of(*runs, measure="tokens").findings.verdict
    assert [one.system for one in found.standings] == ["kg", "naive"]
    assert (known(found.standings[0].score).value, found.is_share) == (124.5, False)


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
    assert [run.label for run in known(chapter.findings.ranking.comparison).runs] == ["naive", "kg"]
    alone = chapter_of(*runs[:2], measure="token_f1").findings
    assert (alone.measure, alone.ranking.comparison) == ("token_f1", None)


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
