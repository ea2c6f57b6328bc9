"""The verdict: which run to choose, which outcome that is, and what is said of the others."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from paired_runs import FAILED, IMPUTED, NOT_APPLICABLE, ScoredRun, Value, write_run
from report_groups import group_of, right, written

from harness.core.errors import ConfigError
from harness.core.records import Cost, EvaluationRecord, Usage
from harness.display import NOTHING, format_value
from harness.report import load_chapters
from harness.report.comparison import compare_runs
from harness.report.verdict.findings import find
from harness.report.verdict.types import Outcome, Verdict
from harness.statistics.prices import load_prices
from harness.store import RunDir

MakeRun = Callable[..., RunDir]
GOLD = "It is given the gold evidence: an upper baseline."
BLIND = "It sees no document: a lower baseline."
ABSTAINED = "abstained although answerable"
NAMES = (*(f"name {number}" for number in range(98)), "Yes", "Yes")
"""Reference answers of which none is right more than twice in a hundred."""
OWN = tuple(f"d{number}" for number in range(200))
"""A document for each query."""
APART = ([*right(80, 100), *right(20, 100)], [*right(30, 100), *right(73, 100)])
"""Two runs that differ on half of 200 queries, and by three of them."""


def verdict(results: Path, *plans: ScoredRun, measure: str | None = None, margin: float | None = None) -> Verdict:
    return find(written(results, *plans), measure, margin).verdict


def by_accuracy(scores: Mapping[str, Sequence[Value]], **keys: Any) -> list[ScoredRun]:
    return [ScoredRun(system=name, scores={"accuracy": values}, **keys) for name, values in scores.items()]


def n_words(text: str) -> int:
    return len(text.split())


def test_a_run_that_beats_every_other_one_is_the_winner(tmp_path: Path) -> None:
    found = verdict(tmp_path, *by_accuracy({"naive": right(90), "kg": right(150), "community": right(60)}))
    assert (found.outcome, found.recommended) == (Outcome.CLEAR_WINNER, "kg")
    assert [(one.system, one.status) for one in found.standings] == [
        ("kg", "recommended"),
        ("naive", "worse"),
        ("community", "worse"),
    ]
    assert found.standings[1].behind is not None
    assert found.standings[1].behind.value == pytest.approx(-0.3)


def test_more_rivals_take_no_power_from_the_winner(tmp_path: Path) -> None:
    """Each lead is tested at 5 %: a lead of 10 points wins against one run and against five."""
    few = {"kg": right(130), "naive": [*right(110)]}
    many = few | {f"run{number}": right(100 - 3 * number) for number in range(4)}
    for name, scores in (("few", few), ("many", many)):
        found = verdict(tmp_path / name, *by_accuracy(scores))
        assert found.outcome == Outcome.CLEAR_WINNER, name


def test_a_cheaper_run_that_is_as_good_is_recommended(tmp_path: Path) -> None:
    plans = [
        ScoredRun(system="kg", scores={"accuracy": right(124)}, input_tokens=900),
        ScoredRun(system="naive", scores={"accuracy": right(122)}, input_tokens=100),
    ]
    found = verdict(tmp_path, *plans)
    assert (found.outcome, found.recommended) == (Outcome.CHEAPER, "naive")
    assert found.systems("as good") == ["kg"]


def test_a_cheaper_run_that_was_not_counted_in_full_is_not(tmp_path: Path) -> None:
    plans = [
        ScoredRun(system="kg", scores={"accuracy": right(124)}, input_tokens=900),
        ScoredRun(
            system="naive", scores={"accuracy": right(122)}, usage={"generator": Usage(calls=1, unmetered_calls=1)}
        ),
    ]
    found = verdict(tmp_path, *plans)
    assert (found.outcome, found.recommended) == (Outcome.EQUALLY_GOOD, "kg")


def test_two_that_are_neither_better_nor_as_good_are_not_settled(tmp_path: Path) -> None:
    found = verdict(tmp_path, *by_accuracy({"naive": APART[0], "kg": APART[1]}))
    assert (found.outcome, found.recommended) == (Outcome.LEADING, "kg")
    assert found.systems("tied") == ["naive"]
    assert found.more is not None
    assert found.more.queries > 200
    assert found.more.minutes is not None
    assert found.probability is not None
    assert 0.4 < found.probability < 0.95
    assert found.at_most_worse is not None
    assert found.at_most_worse > 0.05


def test_a_run_that_is_beaten_does_not_change_what_the_leaders_need(tmp_path: Path) -> None:
    two = verdict(tmp_path / "two", *by_accuracy({"naive": APART[0], "kg": APART[1]}))
    three = verdict(tmp_path / "three", *by_accuracy({"naive": APART[0], "kg": APART[1], "bad": right(5)}))
    assert two.more is not None and three.more is not None
    assert two.more.queries == three.more.queries
    assert three.systems("worse") == ["bad"]


def test_more_queries_than_the_data_set_has_are_said_to_be_more(tmp_path: Path) -> None:
    plans = by_accuracy({"naive": APART[0], "kg": APART[1]}, type_mix={"inference_query": 816})
    found = verdict(tmp_path, *plans)
    assert found.more is not None
    assert found.more.available == 616


def test_a_much_cheaper_run_that_may_be_as_good_is_named(tmp_path: Path) -> None:
    plans = [
        ScoredRun(system="naive", scores={"accuracy": APART[0]}, input_tokens=100),
        ScoredRun(system="kg", scores={"accuracy": APART[1]}, input_tokens=2000),
    ]
    found = verdict(tmp_path, *plans)
    assert found.cheaper is not None
    assert found.cheaper.system == "naive"
    assert found.cheaper.ratio > 5


def test_the_margin_decides_what_is_as_good(tmp_path: Path) -> None:
    group = written(tmp_path, *by_accuracy({"naive": right(100), "kg": right(103)}))
    assert find(group).verdict.outcome == Outcome.EQUALLY_GOOD
    assert find(group, margin=1.0).verdict.outcome == Outcome.LEADING
    assert find(group, margin=10.0).verdict.margin == 10.0


def test_runs_that_answered_all_alike_are_as_good_as_each_other(tmp_path: Path) -> None:
    found = verdict(tmp_path, *by_accuracy({"naive": right(100), "kg": right(100)}))
    assert found.outcome == Outcome.EQUALLY_GOOD


def test_a_few_queries_say_little_and_still_recommend_a_run(tmp_path: Path) -> None:
    found = verdict(tmp_path, *by_accuracy({"naive": right(12, 20), "kg": right(14, 20)}))
    assert (found.outcome, found.recommended) == (Outcome.TOO_FEW, "kg")


def test_a_large_lead_wins_with_few_queries_too(tmp_path: Path) -> None:
    found = verdict(tmp_path, *by_accuracy({"naive": right(1, 20), "kg": right(19, 20)}))
    assert found.outcome == Outcome.CLEAR_WINNER


def test_leaving_out_what_is_hard_makes_no_winner(tmp_path: Path) -> None:
    gappy: list[Value] = [*[1.0] * 122, *[NOT_APPLICABLE] * 78]
    found = verdict(tmp_path, *by_accuracy({"a": right(128), "b": gappy}))
    assert (found.outcome, found.recommended) == (Outcome.INCONCLUSIVE, "a")
    assert [(one.system, one.n_missing, one.n) for one in found.standings] == [("a", 0, 200), ("b", 78, 200)]
    assert any("78" in caveat for caveat in found.caveats)


def test_scores_that_could_not_be_computed_are_missing_too(tmp_path: Path) -> None:
    gappy: list[Value] = [*[1.0] * 122, *[FAILED] * 78]
    assert verdict(tmp_path, *by_accuracy({"a": right(128), "b": gappy})).outcome == Outcome.INCONCLUSIVE


def test_asking_each_question_three_times_makes_nobody_surer(tmp_path: Path) -> None:
    once = {"a": right(34, 67), "b": right(20, 67)[::-1]}
    thrice = {name: [value for value in values for _ in range(3)] for name, values in once.items()}
    texts = {f"q{number:03d}": f"Question {number // 3}?" for number in range(201)}
    found = verdict(tmp_path / "once", *by_accuracy(once))
    again = verdict(tmp_path / "thrice", *by_accuracy(thrice, texts=texts))
    assert (again.n_queries, again.n_questions) == (201, 67)
    assert again.outcome == found.outcome
    ends = [(one.behind.low, one.behind.high) for one in (found.standings[1], again.standings[1]) if one.behind]
    assert ends[0] == pytest.approx(ends[1])
    scores = [one.score for one in (found.standings[0], again.standings[0])]
    assert scores[0] == scores[1]


def test_a_lead_on_a_few_documents_is_no_recommendation_for_new_ones(tmp_path: Path) -> None:
    cites = [f"d{number // 50}" for number in range(200)]
    scores = {"a": right(120), "b": right(60)}
    found = verdict(tmp_path / "shared", *by_accuracy(scores, cites=cites))
    assert found.outcome == Outcome.LEADING
    assert any("these documents" in caveat for caveat in found.caveats)
    assert verdict(tmp_path / "own", *by_accuracy(scores, cites=OWN)).outcome == Outcome.CLEAR_WINNER


def test_no_run_is_chosen_that_is_not_better_than_a_constant_answer(tmp_path: Path) -> None:
    plans = by_accuracy({"naive": right(40), "kg": right(120)}, gold=("No", "No", "No", "Yes"))
    found = verdict(tmp_path, *plans)
    assert (found.outcome, found.recommended) == (Outcome.NOT_ABOVE_BASELINE, "kg")
    assert found.lower_baseline == "always 'No'"
    assert [one.system for one in found.standings if one.status == "baseline"] == ["always 'No'"]


def test_the_lower_baseline_is_the_better_of_constant_answer_and_closed_book(tmp_path: Path) -> None:
    plans = [
        *by_accuracy({"naive": right(190), "kg": right(185)}, gold=("No", "Yes", "a", "b")),
        ScoredRun(
            system="closed-book", scores={"accuracy": right(150)}, gold=("No", "Yes", "a", "b"), baseline=BLIND
        ),
    ]
    assert verdict(tmp_path, *plans).lower_baseline == "closed-book"


def test_where_gold_evidence_does_not_help_answers_rank_nothing(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"gold": ("No", "No", "Yes", "a", "b", "No", "Yes", "c"), "cites": OWN}
    plans = [
        *by_accuracy({"naive": right(1, 8), "kg": right(2, 8)}, **keys),
        *by_accuracy({"gold": right(4, 8)}, baseline=GOLD, **keys),
    ]
    found = verdict(tmp_path, *plans)
    assert found.outcome == Outcome.MODEL_CANNOT_ANSWER
    assert found.recommended is not None


def test_then_evidence_found_ranks_if_the_runs_have_it(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"gold": ("No", "No", "Yes", "a", "b", "No", "Yes", "c"), "cites": OWN}
    evidence = "fact_Recall@4000c"
    plans = [
        ScoredRun(system="naive", scores={"accuracy": right(2, 8), evidence: right(1, 8)}, **keys),
        ScoredRun(system="kg", scores={"accuracy": right(1, 8), evidence: right(8, 8)}, **keys),
        ScoredRun(system="gold", scores={"accuracy": right(4, 8), evidence: right(8, 8)}, baseline=GOLD, **keys),
    ]
    found = verdict(tmp_path / "own", *plans)
    assert (found.outcome, found.recommended) == (Outcome.MODEL_CANNOT_ANSWER, "kg")
    assert [(one.unranked.value, one.n_unranked) for one in found.standings if one.unranked] == [
        (0.125, 8),
        (0.25, 8),
        (0.5, 8),
    ]
    assert (found.metric, found.is_by_evidence) == (evidence, True)
    assert verdict(tmp_path / "asked", *plans, measure="accuracy").metric == "accuracy"


@pytest.mark.parametrize(("n", "status"), [(4, "too few"), (8, "tied")])
def test_evidence_found_on_too_few_queries_ranks_only_for_now(tmp_path: Path, n: int, status: str) -> None:
    evidence = "fact_Recall@4000c"
    keys: dict[str, Any] = {"gold": ("No", "No", "Yes", "a", "b", "No", "Yes", "c"), "cites": OWN}
    scores = {"naive": n - 1, "kg": n, "community": n}
    plans = [
        *(
            ScoredRun(system=name, scores={"accuracy": right(1, n), evidence: right(found, n)}, **keys)
            for name, found in scores.items()
        ),
        ScoredRun(system="gold", scores={"accuracy": right(n // 2, n)}, baseline=GOLD, **keys),
    ]
    found = verdict(tmp_path, *plans)
    assert (found.outcome, found.is_by_evidence) == (Outcome.TOO_FEW, True)
    assert {one.status for one in found.standings[1:3]} == {status}


def test_unanswerable_queries_that_the_metric_does_not_rank_are_counted(tmp_path: Path) -> None:
    values: list[Value] = [1.0, NOT_APPLICABLE] * 20
    keys: dict[str, Any] = {"gold": ("Yes", "Insufficient information."), "cites": OWN}
    plans = [ScoredRun(system=name, scores={"fact_Recall@4000c": values}, **keys) for name in ("naive", "kg")]
    found = verdict(tmp_path / "evidence", *plans)
    assert (found.n_queries, found.n_unanswerable) == (40, 20)
    assert verdict(tmp_path / "answers", *by_accuracy({"naive": right(9, 40)}, **keys)).n_unanswerable == 0


def test_without_evidence_in_the_queries_gold_is_no_upper_baseline(tmp_path: Path) -> None:
    plans = [
        *by_accuracy({"naive": right(90), "kg": right(150)}, gold=NAMES),
        *by_accuracy({"gold": right(10)}, gold=NAMES, baseline=GOLD),
    ]
    found = verdict(tmp_path, *plans)
    assert (found.outcome, found.upper_baseline) == (Outcome.CLEAR_WINNER, "")


def test_baselines_are_excluded_from_the_ranking(tmp_path: Path) -> None:
    plans = by_accuracy({"naive": right(90), "kg": right(150)}, gold=NAMES, cites=OWN)
    gold = by_accuracy({"gold": right(190)}, gold=NAMES, cites=OWN, baseline=GOLD)
    alone, beside = verdict(tmp_path / "alone", *plans), verdict(tmp_path / "beside", *plans, *gold)
    assert (alone.outcome, alone.recommended) == (beside.outcome, beside.recommended)
    assert alone.standings[1].behind == beside.standings[1].behind
    assert beside.upper_baseline == "gold"
    assert beside.systems("baseline")[-1] == "gold"


def test_an_unfinished_run_is_listed_and_changes_nothing(make_run: MakeRun) -> None:
    runs = [make_run(system="naive"), make_run(system="kg", right={"inference_query": 0.2})]
    alone = find(group_of(*runs)).verdict
    beside = find(group_of(*runs, make_run(system="community", missing=3))).verdict
    assert (alone.outcome, alone.recommended) == (beside.outcome, beside.recommended)
    assert [(one.status, one.why) for one in beside.standings if one.system == "community"] == [
        ("not ranked", "unfinished")
    ]
    assert any("community" in caveat for caveat in beside.caveats)


def test_a_run_that_another_judge_scored_is_not_ranked_with_the_others(tmp_path: Path) -> None:
    def judged(system: str, judge: str, count: int) -> RunDir:
        record = EvaluationRecord(
            evaluator="answer", version="1", models={"judge": {"model": judge}}, cost=Cost(wall_s=1.0)
        )
        return write_run(tmp_path, ScoredRun(system=system, scores={"accuracy": right(count)}, evaluator=record))

    found = find(group_of(judged("naive", "a", 90), judged("kg", "a", 150), judged("community", "b", 199))).verdict
    assert (found.outcome, found.recommended) == (Outcome.CLEAR_WINNER, "kg")
    assert found.systems("not ranked") == ["community"]


def test_a_run_that_fails_often_is_not_called_cheaper(make_run: MakeRun) -> None:
    cheap, dear = Usage(calls=1, input_tokens=20, output_tokens=1), Usage(calls=1, input_tokens=9000)
    runs = [make_run(system="naive", failing=4, usage=cheap), make_run(system="kg", usage=dear)]
    found = find(group_of(*runs)).verdict
    assert found.outcome != Outcome.CHEAPER
    assert found.cheaper is None
    assert found.caveats[0].startswith("naive failed on 4")
    assert next(one.failed for one in found.standings if one.system == "naive") == pytest.approx(0.2)


def test_a_leader_that_often_fails_is_to_be_repaired_and_a_tied_run_used_until_then(tmp_path: Path) -> None:
    found = verdict(
        tmp_path, *by_accuracy({"naive": right(120), "kg": [*right(125, 140), *[IMPUTED] * 60]}), margin=1.0
    )
    assert found.recommended == "kg"
    assert found.systems("tied") == ["naive"]
    assert "30 %" in found.headline
    assert "naive" in found.sentences[0]


def test_where_everything_failed_nobody_wins(make_run: MakeRun) -> None:
    runs = [make_run(system="naive", failing=20), make_run(system="kg", failing=20)]
    found = find(group_of(*runs)).verdict
    assert (found.outcome, found.recommended) == (Outcome.NOTHING_ANSWERED, None)


@pytest.mark.parametrize(("failing", "rate"), [(20, None), (4, 0.0), (0, 0.0)])
def test_a_crash_is_in_no_rate_of_abstentions(make_run: MakeRun, failing: int, rate: float | None) -> None:
    runs = [make_run(system="naive", failing=failing), make_run(system="kg")]
    (chapter,) = load_chapters(runs, load_prices())
    rates = {one.system: one.columns[ABSTAINED] for one in chapter.findings.verdict.standings if one.run_id}
    assert rates == {"naive": rate, "kg": 0.0}
    (table,) = [table for table in chapter.tables() if table.name == "leaderboard"]
    assert {format_value(row[table.header.index(ABSTAINED)]) for row in table.rows} <= {"0 %", NOTHING}
    compared = {one.measure.name: one.means for one in compare_runs(runs, load_prices()).measures}
    assert compared.get("false_abstention_rate", ()) == (() if rate is None else (0.0, 0.0))


def test_a_system_cannot_win_by_failing_where_it_would_abstain(make_run: MakeRun) -> None:
    runs = [make_run(system="naive", failing=4), make_run(system="kg")]
    with pytest.raises(ConfigError, match="false_abstention_rate"):
        load_chapters(runs, load_prices(), "false_abstention_rate")


def test_where_every_run_scores_nothing_none_is_chosen(tmp_path: Path) -> None:
    found = verdict(tmp_path, *by_accuracy({"naive": right(0), "kg": right(0)}))
    assert (found.outcome, found.recommended) == (Outcome.NOTHING_RIGHT, None)
    assert found.systems("recommended") == []


def test_of_equal_scores_the_cheaper_run_is_chosen(tmp_path: Path) -> None:
    plans = [
        ScoredRun(system=name, scores={"accuracy": right(30, 40)}, input_tokens=tokens)
        for name, tokens in (("naive", 2000), ("kg", 100))
    ]
    assert verdict(tmp_path, *plans).recommended == "kg"


def test_a_baseline_is_never_recommended(tmp_path: Path) -> None:
    plans = [
        *by_accuracy({"closed-book": right(50)}, baseline=BLIND),
        *by_accuracy({"gold": right(150)}, baseline=GOLD),
    ]
    found = verdict(tmp_path, *plans)
    assert (found.outcome, found.recommended) == (Outcome.ONLY_BASELINES, None)


def test_milliseconds_make_no_run_cheaper(tmp_path: Path) -> None:
    plans = [
        ScoredRun(system=name, scores={"accuracy": right(count)}, latency_s=(seconds,), usage={})
        for name, count, seconds in (("naive", 100, 0.001), ("kg", 106, 0.03))
    ]
    found = verdict(tmp_path, *plans)
    assert (found.recommended, found.cheaper) == ("kg", None)


def test_one_run_is_described(tmp_path: Path) -> None:
    found = verdict(tmp_path, *by_accuracy({"naive": right(120)}))
    assert (found.outcome, found.recommended) == (Outcome.ONE_SYSTEM, "naive")
    assert found.standings[0].score is not None
    assert found.standings[0].score.value == pytest.approx(0.6)


def test_runs_without_scores_say_what_to_do(make_run: MakeRun) -> None:
    found = find(group_of(make_run(evaluated=False))).verdict
    assert found.outcome == Outcome.NOT_SCORED
    assert "rag-harness evaluate" in found.headline


def test_unfinished_runs_alone_rank_nothing(make_run: MakeRun) -> None:
    found = find(group_of(make_run(system="naive", missing=3), make_run(system="kg", missing=5))).verdict
    assert (found.outcome, found.recommended) == (Outcome.NOT_SCORED, None)
    assert "32 of 40" in found.headline


def test_an_imputed_failure_is_the_worst_value_and_not_a_missing_one(tmp_path: Path) -> None:
    failing: list[Value] = [*[1.0] * 122, *[IMPUTED] * 78]
    found = verdict(tmp_path, *by_accuracy({"a": right(190), "b": failing}))
    assert (found.outcome, found.standings[1].n_missing) == (Outcome.CLEAR_WINNER, 0)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_handful_of_queries_breaks_nothing(tmp_path: Path, n: int) -> None:
    found = verdict(tmp_path, *by_accuracy({"naive": right(0, n), "kg": right(n, n)}))
    assert found.recommended == "kg"


@pytest.mark.slow
def test_thirty_runs_have_one_verdict(tmp_path: Path) -> None:
    found = verdict(tmp_path, *by_accuracy({f"run{n:02d}": right(100 + n % 7) for n in range(30)}))
    assert found.recommended is not None
    assert len(found.standings) == 30


def test_the_order_of_the_runs_changes_nothing(tmp_path: Path) -> None:
    plans = by_accuracy({"naive": APART[0], "kg": APART[1], "bad": right(5)})
    one, other = verdict(tmp_path / "one", *plans), verdict(tmp_path / "other", *reversed(plans))
    assert one.headline == other.headline
    assert one.sentences == other.sentences


SITUATIONS: dict[str, list[ScoredRun]] = {
    "clear winner": by_accuracy({"naive": right(90), "kg": right(150), "community": right(60)}),
    "tie": by_accuracy({"naive": right(100), "kg": right(101)}),
    "unsettled": by_accuracy({"naive": APART[0], "kg": APART[1]}),
    "too few": by_accuracy({"naive": right(12, 20), "kg": right(14, 20)}),
    "baseline wins": by_accuracy({"naive": right(40), "kg": right(120)}, gold=("No", "No", "No", "Yes")),
    "missing": by_accuracy({"a": right(128), "b": [*[1.0] * 122, *[NOT_APPLICABLE] * 78]}),
    "one": by_accuracy({"naive": right(100)}),
    "cheaper": [
        ScoredRun(system="kg", scores={"accuracy": right(124)}, input_tokens=900),
        ScoredRun(system="naive", scores={"accuracy": right(122)}, input_tokens=100),
    ],
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_headline_has_at_most_twenty_words_and_three_sentences_follow(tmp_path: Path, name: str) -> None:
    found = verdict(tmp_path, *SITUATIONS[name])
    assert 0 < n_words(found.headline) <= 20
    assert len(found.sentences) <= 3
    for text in (found.headline, *found.sentences):
        assert "p =" not in text
        assert "interval" not in text


def test_the_value_is_plain_json(tmp_path: Path) -> None:
    found = verdict(tmp_path, *SITUATIONS["unsettled"]).to_json()
    assert json.loads(json.dumps(found, allow_nan=False))["outcome"] == "leading"


def test_a_run_that_fails_often_is_said_before_its_score(tmp_path: Path) -> None:
    """Its failures, and not more questions, are what to look at first."""
    failing = [*[IMPUTED] * 60, *right(100, 140)]
    found = verdict(tmp_path, *by_accuracy({"naive": right(120), "kg": failing}))
    assert found.sentences[0].startswith("kg failed on 30 %")


def test_few_queries_that_agree_are_no_certainty(tmp_path: Path) -> None:
    few = verdict(tmp_path / "few", *by_accuracy({"a": right(1, 2), "b": right(1, 2)}))
    one_document = verdict(tmp_path / "one", *by_accuracy({"a": right(104), "b": right(100)}, cites=("d0",)))
    for found in (few, one_document):
        assert found.probability is not None
        assert found.probability < 0.9


def test_a_failed_ceiling_says_nothing_about_the_model(tmp_path: Path) -> None:
    failed: list[Value] = [IMPUTED] * 200
    found = verdict(
        tmp_path,
        *by_accuracy({"kg": right(150), "naive": right(90)}),
        *by_accuracy({"gold": failed}, baseline=GOLD),
    )
    assert (found.outcome, found.recommended) == (Outcome.CLEAR_WINNER, "kg")


def test_a_run_without_a_known_cost_that_is_beaten_hides_no_price(tmp_path: Path) -> None:
    plans = [
        ScoredRun(system="a", scores={"accuracy": right(124)}, input_tokens=6000),
        ScoredRun(system="b", scores={"accuracy": right(122)}, input_tokens=800),
        ScoredRun(system="c", scores={"accuracy": right(20)}, input_tokens=None),
    ]
    assert verdict(tmp_path, *plans).recommended == "b"
