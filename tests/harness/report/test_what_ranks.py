"""Which measure ranks, and that a report says which and why: by name, by config, by data set, or what is left."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from paired_runs import NOT_APPLICABLE, ScoredRun, Value, write_run
from pydantic import JsonValue

from harness.core.errors import ConfigError
from harness.core.records import Cost, EvaluationRecord
from harness.registry import EVALUATORS
from harness.report.chapter import Chapter, load_chapters
from harness.report.measures import known_measures
from harness.report.verdict.types import Outcome
from harness.statistics.prices import load_prices

N = 40
Judges = dict[str, dict[str, JsonValue]]


def right(count: int) -> Sequence[Value]:
    return [1.0] * count + [0.0] * (N - count)


BOTH: Mapping[str, Mapping[str, Sequence[Value]]] = {
    "naive": {"accuracy": right(10), "token_f1": right(30), "em": right(5)},
    "kg": {"accuracy": right(30), "token_f1": right(10), "em": right(5)},
}


def chapter_of(results: Path, plans: Sequence[ScoredRun], measure: str | None = None) -> Chapter:
    (chapter,) = load_chapters([write_run(results, plan) for plan in plans], load_prices(), measure)
    return chapter


def plans_of(
    scores: Mapping[str, Mapping[str, Sequence[Value]]], *, dataset: str = "demo", measure: str | None = None
) -> list[ScoredRun]:
    return [ScoredRun(system=name, scores=own, dataset=dataset, measure=measure) for name, own in scores.items()]


def judged(system: str, count: int, **made: object) -> ScoredRun:
    record = EvaluationRecord.model_validate(
        {"evaluator": "ragas", "version": "1", "cost": Cost(wall_s=0.0), "measures": (), **made}
    )
    return ScoredRun(system=system, scores={"ragas_faithfulness": right(count)}, evaluator=record)


def notes(chapter: Chapter) -> str:
    section = chapter.section("notes")
    assert section is not None
    return "\n".join(section.content.items)


@pytest.mark.parametrize(
    ("dataset", "config", "asked", "best", "measure", "reason"),
    [
        ("demo", None, None, "kg", "accuracy", "data set"),
        ("uda_qa", None, None, "naive", "token_f1", "data set"),
        ("demo", "token_f1", None, "naive", "token_f1", "configs"),
        ("demo", "token_f1", "accuracy", "kg", "accuracy", "asked"),
        ("nobody-knows-it", None, None, "kg", "accuracy", "neither"),
        ("demo", "em", "latency_s", "naive", "latency_s", "asked"),
        ("demo", "ragas_faithfulness", None, "kg", "accuracy", "faithfulness"),
    ],
)
def test_the_metric_that_ranks_is_named_with_its_reason(
    tmp_path: Path, dataset: str, config: str | None, asked: str | None, best: str, measure: str, reason: str
) -> None:
    found = chapter_of(tmp_path, plans_of(BOTH, dataset=dataset, measure=config), asked).findings.verdict
    assert (found.metric, found.recommended) == (measure, best)
    assert reason in found.metric_reason


def test_configs_that_disagree_leave_it_to_the_data_set(tmp_path: Path) -> None:
    plans = [*plans_of({"naive": BOTH["naive"]}, measure="token_f1"), *plans_of({"kg": BOTH["kg"]}, measure="em")]
    assert chapter_of(tmp_path, plans).findings.verdict.metric == "accuracy"


def test_the_run_says_what_its_data_set_said_then(tmp_path: Path) -> None:
    plans = [replace(plan, primary_measure="em") for plan in plans_of(BOTH)]
    assert chapter_of(tmp_path, plans).findings.verdict.metric == "em"


def test_a_measure_that_no_run_has_is_one_line_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has a value of 'acuracy': did you mean 'accuracy'"):
        chapter_of(tmp_path, plans_of(BOTH), "acuracy")


def test_a_measure_of_which_nobody_knows_what_is_good_does_not_rank(tmp_path: Path) -> None:
    plans = plans_of({name: {**own, "strange": right(3)} for name, own in BOTH.items()})
    with pytest.raises(ConfigError, match="'strange' cannot rank"):
        chapter_of(tmp_path, plans, "strange")


def test_scores_without_a_value_are_no_reason_to_evaluate_again(tmp_path: Path) -> None:
    nothing: Sequence[Value] = [NOT_APPLICABLE] * 9
    chapter = chapter_of(tmp_path, plans_of({name: {"accuracy": nothing} for name in BOTH}))
    assert chapter.findings.verdict.outcome == Outcome.NOT_SCORED
    assert "rag-harness evaluate" not in chapter.findings.verdict.headline


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"weights": {"parser": "a" * 64}}, {"weights": {"parser": "b" * 64}}),
        ({"models": {"judge": {"model": "4o"}}}, {"models": {"judge": {"model": "mini"}}}),
        ({"params": {"k": 1}}, {"params": {"k": 2}}),
        ({"version": "1"}, {"version": "2"}),
    ],
)
def test_runs_that_were_scored_in_other_ways_are_not_comparable(
    tmp_path: Path, one: dict[str, object], other: dict[str, object]
) -> None:
    two = chapter_of(tmp_path / "two", [judged("naive", 10, **one), judged("kg", 30, **other)])
    assert two.findings.comparison is None
    assert "ragas scored these runs in 2 ways" in notes(two)
    three = chapter_of(
        tmp_path / "three", [judged("naive", 10, **one), judged("kg", 30, **other), judged("gold", 35, **one)]
    )
    found = three.findings.verdict
    assert (found.recommended, found.systems("not ranked")) == ("gold", ["kg"])


def test_titles_that_two_evaluators_share_say_whose_they_are(tmp_path: Path) -> None:
    scores = {"ragas_faithfulness": right(30), "triplet_faithfulness": right(20)}
    chapter = chapter_of(tmp_path, plans_of({"naive": scores}), "triplet_faithfulness")
    assert chapter.findings.verdict.metric_title == "faithfulness (triplet)"
    alone = chapter_of(tmp_path / "alone", plans_of({"naive": {"ragas_faithfulness": right(30)}}))
    assert alone.findings.verdict.metric_title == "faithfulness"


def test_what_no_model_makes_stands_before_what_one_makes_and_so_ranks_where_answers_are_missing() -> None:
    makers = {
        measure.name: bool(spec.roles or spec.weights)
        for spec in EVALUATORS.load_all()[0]
        for measure in spec.measures(spec.params())
    }
    learnt = [makers[name] for name in known_measures(())]
    assert True in learnt
    assert learnt == sorted(learnt)
