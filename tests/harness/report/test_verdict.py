"""The verdict: which run to choose, which outcome that is, and what is said of the others."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from paired_runs import FAILED, IMPUTED, NOT_APPLICABLE, ScoredRun, Value, write_run
from records import index_record, known
from report_groups import group_of, right, written

from harness.core.errors import ConfigError
from harness.core.records import Usage
from harness.display import NOTHING, format_value
from harness.report import load_chapters
from harness.report.comparison.compare import gap_of
from harness.report.leaderboard import leaderboard
from harness.report.verdict.findings import compare_runs, find
from harness.report.verdict.headline import advice
from harness.report.verdict.types import Outcome, Verdict
from harness.statistics.prices import load_prices
from harness.statistics.recommendation import leads_of, ranked_places
from harness.store import Done, RunDir

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


def by_accuracy(scores: Mapping[str, int | Sequence[Value]], n: int = 200, **keys: Any) -> list[ScoredRun]:
    """A run for each system with these values, or right on so many of n queries."""
    values = {name: right(own, n) if isinstance(own, int) else own for name, own in scores.items()}
    return [ScoredRun(system=name, scores={"accuracy": own}, **keys) for name, own in values.items()]


def assert_is_short(found: Verdict) -> None:
    assert 0 < len(found.headline.split()) <= 20
    assert len(found.sentences) <= 3
    for text in (found.headline, *found.sentences):
        assert "p =" not in text
        assert "interval" not in text


def priced(counts: Mapping[str, int], tokens: Sequence[int | None], n: int = 200) -> list[ScoredRun]:
    """Runs that were right on so many of n queries and took so many tokens."""
    return [
        ScoredRun(system=name, scores={"accuracy": right(count, n)}, input_tokens=taken)
        for (name, count), taken in zip(counts.items(), tokens, strict=True)
    ]


FEW_YES: dict[str, Any] = {"gold": ("No", "No", "Yes", "a", "b", "No", "Yes", "c"), "cites": OWN}
EVIDENCE = "fact_Recall@4000c"
SITUATIONS: dict[str, tuple[list[ScoredRun], Outcome, str | None]] = {
    "one beats every other": (by_accuracy({"naive": 90, "kg": 150, "community": 60}), Outcome.CLEAR_WINNER, "kg"),
    # Each lead is tested at 5 %: one of 10 points wins against one run and against five.
    "a lead over one": (by_accuracy({"kg": 130, "naive": 110}), Outcome.CLEAR_WINNER, "kg"),
    "a lead over five": (
        by_accuracy({"kg": 130, "naive": 110} | {f"r{n}": right(100 - 3 * n) for n in range(4)}),
        Outcome.CLEAR_WINNER,
        "kg",
    ),
    "a large lead on few queries": (by_accuracy({"naive": 1, "kg": 19}, n=20), Outcome.CLEAR_WINNER, "kg"),
    "a small lead on few queries": (by_accuracy({"naive": 12, "kg": 14}, n=20), Outcome.TOO_FEW, "kg"),
    "one query": (by_accuracy({"naive": 0, "kg": 1}, n=1), Outcome.TOO_FEW, "kg"),
    "all alike": (by_accuracy({"naive": 100, "kg": 100}), Outcome.EQUALLY_GOOD, "naive"),
    "unsettled": (by_accuracy({"naive": APART[0], "kg": APART[1]}), Outcome.LEADING, "kg"),
    "as good and cheaper": (priced({"kg": 124, "naive": 122}, (900, 100)), Outcome.CHEAPER, "naive"),
    "equal and cheaper": (priced({"naive": 30, "kg": 30}, (2000, 100), 40), Outcome.LEADING, "kg"),
    "the beaten one's cost is not known": (
        priced({"a": 124, "b": 122, "c": 20}, (6000, 800, None)),
        Outcome.CHEAPER,
        "b",
    ),
    "cheaper, but not counted in full": (
        [
            *priced({"kg": 124}, (900,)),
            ScoredRun("naive", {"accuracy": right(122)}, usage={"generator": Usage(calls=1, unmetered_calls=1)}),
        ],
        Outcome.EQUALLY_GOOD,
        "kg",
    ),
    "faster by milliseconds": (
        [
            ScoredRun(name, {"accuracy": right(count)}, latency_s=(seconds,), usage={})
            for name, count, seconds in (("naive", 100, 0.001), ("kg", 106, 0.03))
        ],
        Outcome.CLEAR_WINNER,
        "kg",
    ),
    "hard queries left out": (
        by_accuracy({"a": right(128), "b": [*[1.0] * 122, *[NOT_APPLICABLE] * 78]}),
        Outcome.INCONCLUSIVE,
        "a",
    ),
    "scores that could not be computed": (
        by_accuracy({"a": right(128), "b": [*[1.0] * 122, *[FAILED] * 78]}),
        Outcome.INCONCLUSIVE,
        "a",
    ),
    "failures are the worst value": (
        by_accuracy({"a": right(190), "b": [*[1.0] * 122, *[IMPUTED] * 78]}),
        Outcome.CLEAR_WINNER,
        "a",
    ),
    "nothing right": (by_accuracy({"naive": 0, "kg": 0}), Outcome.NOTHING_RIGHT, None),
    "one system": (by_accuracy({"naive": 120}), Outcome.ONE_SYSTEM, "naive"),
    "baselines alone": (
        [*by_accuracy({"closed-book": 50}, baseline=BLIND), *by_accuracy({"gold": 150}, baseline=GOLD)],
        Outcome.ONLY_BASELINES,
        None,
    ),
    "not above a constant answer": (
        by_accuracy({"naive": 40, "kg": 120}, gold=("No", "No", "No", "Yes")),
        Outcome.NOT_ABOVE_BASELINE,
        "kg",
    ),
    "gold evidence does not help": (
        [
            *by_accuracy({"naive": 1, "kg": 2}, n=8, **FEW_YES),
            *by_accuracy({"gold": 4}, n=8, baseline=GOLD, **FEW_YES),
        ],
        Outcome.MODEL_CANNOT_ANSWER,
        "kg",
    ),
    "a ceiling that failed": (
        [*by_accuracy({"kg": 150, "naive": 90}), *by_accuracy({"gold": [IMPUTED] * 200}, baseline=GOLD)],
        Outcome.CLEAR_WINNER,
        "kg",
    ),
    "a ceiling without evidence in the queries": (
        [
            *by_accuracy({"naive": 90, "kg": 150}, gold=NAMES),
            *by_accuracy({"gold": 10}, gold=NAMES, baseline=GOLD),
        ],
        Outcome.CLEAR_WINNER,
        "kg",
    ),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_each_situation_has_its_outcome_in_plain_words(tmp_path: Path, name: str) -> None:
    plans, outcome, recommended = SITUATIONS[name]
    findings = find(written(tmp_path, *plans))
    found, upper = findings.verdict, findings.baselines.upper
    assert (found.outcome, found.recommended) == (outcome, recommended)
    assert found.cheaper is None
    assert found.systems("recommended") == ([recommended] if recommended else [])
    assert (upper.label if upper else "") == ("gold" if name == "gold evidence does not help" else "")
    assert_is_short(found)
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["outcome"] == outcome


@pytest.mark.parametrize(("n", "advised"), [(12, "choose"), (60, "")])
def test_few_questions_do_not_say_that_documents_are_useless(tmp_path: Path, n: int, advised: str) -> None:
    share = n // 12
    plans = by_accuracy({"naive": 5 * share, "kg": 4 * share}, n=n, gold=NAMES)
    blind = by_accuracy({"closed-book": right((4 if share > 1 else 1) * share, n)}, gold=NAMES, baseline=BLIND)
    found = verdict(tmp_path, *plans, *blind)
    assert (found.outcome, found.recommended) == (Outcome.NOT_ABOVE_BASELINE, "naive")
    assert statuses_in_terminal(found)["naive"] == advised
    assert_is_short(found)


def test_with_few_questions_a_system_that_often_fails_is_not_advised_if_another_is_sound(tmp_path: Path) -> None:
    failing: list[Value] = [*right(5, 5), IMPUTED, IMPUTED, *right(0, 5)]
    scores: dict[str, Sequence[Value]] = {"kg": failing, "naive": right(4, 12)}
    blind = by_accuracy({"closed-book": 2}, n=12, gold=NAMES, baseline=BLIND)
    found = verdict(tmp_path, *by_accuracy(scores, gold=NAMES), *blind)
    assert (found.outcome, found.recommended) == (Outcome.NOT_ABOVE_BASELINE, "kg")
    assert advice(found) == "use naive for now"
    assert statuses_in_terminal(found)["kg"] == "leads"


def statuses_in_terminal(found: Verdict) -> dict[object, object]:
    return {row[0]: row[1] for row in leaderboard(found, brief=True).rows}


def test_the_winner_stands_first_and_each_other_run_with_its_gap(tmp_path: Path) -> None:
    found = verdict(tmp_path, *SITUATIONS["one beats every other"][0])
    assert [(one.system, one.status) for one in found.standings] == [
        ("kg", "recommended"),
        ("naive", "worse"),
        ("community", "worse"),
    ]
    assert known(found.standings[0].score).value == pytest.approx(0.75)
    assert known(found.standings[1].behind).value == pytest.approx(-0.3)


def test_a_beaten_system_does_not_change_the_queries_that_two_leading_ones_need(tmp_path: Path) -> None:
    scores = {"naive": APART[0], "kg": APART[1]}
    two = verdict(tmp_path / "two", *by_accuracy(scores))
    three = verdict(tmp_path / "three", *by_accuracy({**scores, "bad": 5}))
    for found in (two, three):
        assert (found.outcome, found.recommended, found.systems("tied")) == (Outcome.LEADING, "kg", ["naive"])
        assert known(found.more).queries == known(two.more).queries > 200
        assert known(found.more).minutes is not None
        assert 0.4 < known(found.probability) < 0.95
        # How far the leader may be behind is the largest limit of the table.
        limits = [known(known(one.behind).high) for one in found.standings if one.behind]
        assert found.at_most_worse == max(limits) > 0.05
    assert three.systems("worse") == ["bad"]


def test_more_queries_than_the_data_set_has_are_said_to_be_more(tmp_path: Path) -> None:
    plans = by_accuracy({"naive": 4, "kg": 5}, n=8, type_mix={"inference_query": 15, "no": 5})
    # Also those of a type that was not answered yet.
    more = known(verdict(tmp_path, *plans).more)
    assert (more.available, more.are_own) == (12, False)
    own = [replace(plan, config={"dataset": {"name": "files", "path": "docs"}}) for plan in plans]
    assert known(verdict(tmp_path / "own", *own).more).are_own


def test_the_margin_decides_what_is_as_good(tmp_path: Path) -> None:
    group = written(tmp_path, *by_accuracy({"naive": 100, "kg": 103}))
    assert find(group).verdict.outcome == Outcome.EQUALLY_GOOD
    assert find(group, margin=1.0).verdict.outcome == Outcome.LEADING
    assert find(group, margin=10.0).verdict.margin == 10.0


def test_leaving_out_hard_queries_makes_no_winner(tmp_path: Path) -> None:
    found = verdict(tmp_path, *SITUATIONS["hard queries left out"][0])
    assert [(one.system, one.n_missing, one.n) for one in found.standings] == [("a", 0, 200), ("b", 78, 200)]
    assert any("78" in caveat for caveat in found.caveats)


def test_asking_each_question_three_times_makes_no_verdict_surer(tmp_path: Path) -> None:
    once = {"a": right(34, 67), "b": right(20, 67)[::-1]}
    thrice = {name: [value for value in values for _ in range(3)] for name, values in once.items()}
    texts = {f"q{number:03d}": f"Question {number // 3}{'?' * (1 + number % 3)}" for number in range(201)}
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
    here = found.standings[1]
    assert here.status == "worse here" and here.behind is not None
    assert here.behind.high is not None and here.behind.high < 0
    assert verdict(tmp_path / "own", *by_accuracy(scores, cites=OWN)).outcome == Outcome.CLEAR_WINNER


def test_one_large_document_with_a_small_lead_hides_no_lead_on_all_others(tmp_path: Path) -> None:
    cites = [*["hub"] * 100, *(f"d{number}" for number in range(200))]
    scores = {"a": [*right(50, 100), *right(120)], "b": [*right(45, 100), *right(60)]}
    found = verdict(tmp_path, *by_accuracy(scores, cites=cites))
    assert (found.outcome, found.recommended) == (Outcome.CLEAR_WINNER, "a")


def test_a_run_that_only_the_correction_keeps_tied_shows_no_settled_interval(tmp_path: Path) -> None:
    """Behind on seven queries of 200: .016 alone, and .23 among the pairs of six runs."""
    best = right(107)
    scores = {"best": best, "behind": right(100)}
    scores |= {f"near {at}": [*best[: 106 - at], 0.0, *best[107 - at :]] for at in range(4)}
    found = verdict(tmp_path, *by_accuracy(scores, cites=OWN))
    behind = next(one for one in found.standings if one.system == "behind")
    assert behind.status == "tied"
    assert behind.behind is not None and behind.behind.value == pytest.approx(-0.035)
    assert behind.behind.low is not None and behind.behind.high is not None
    assert behind.behind.low < -0.035 < 0 <= behind.behind.high


def test_the_lower_baseline_is_the_better_of_constant_answer_and_closed_book(tmp_path: Path) -> None:
    found = verdict(tmp_path / "constant", *SITUATIONS["not above a constant answer"][0])
    assert found.lower_baseline == "always 'No'"
    assert found.systems("baseline") == ["always 'No'"]
    keys: dict[str, Any] = {"gold": ("No", "Yes", "a", "b")}
    plans = by_accuracy({"naive": 190, "kg": 185}, **keys)
    blind = by_accuracy({"closed-book": 150}, baseline=BLIND, **keys)
    assert verdict(tmp_path / "blind", *plans, *blind).lower_baseline == "closed-book"


def test_then_evidence_found_ranks_if_the_runs_have_it(tmp_path: Path) -> None:
    plans = [
        ScoredRun("naive", {"accuracy": right(2, 8), EVIDENCE: right(1, 8)}, **FEW_YES),
        ScoredRun("kg", {"accuracy": right(1, 8), EVIDENCE: right(8, 8)}, **FEW_YES),
        ScoredRun("gold", {"accuracy": right(4, 8), EVIDENCE: right(8, 8)}, baseline=GOLD, **FEW_YES),
    ]
    found = verdict(tmp_path / "own", *plans)
    assert (found.outcome, found.recommended) == (Outcome.MODEL_CANNOT_ANSWER, "kg")
    unranked = [(one.unranked.value, one.n_unranked) for one in found.standings if one.unranked]
    assert unranked == [(0.125, 8), (0.25, 8), (0.5, 8)]
    assert (found.metric, found.is_by_evidence) == (EVIDENCE, True)
    assert verdict(tmp_path / "asked", *plans, measure="accuracy").metric == "accuracy"


@pytest.mark.parametrize(("n", "status"), [(4, "too few"), (8, "tied")])
def test_evidence_found_on_too_few_queries_ranks_only_for_now(tmp_path: Path, n: int, status: str) -> None:
    plans = [
        ScoredRun(name, {"accuracy": right(1, n), EVIDENCE: right(found, n)}, **FEW_YES)
        for name, found in (("naive", n - 1), ("kg", n), ("community", n))
    ]
    plans.append(ScoredRun("gold", {"accuracy": right(n // 2, n)}, baseline=GOLD, **FEW_YES))
    found = verdict(tmp_path, *plans)
    assert (found.outcome, found.is_by_evidence) == (Outcome.TOO_FEW, True)
    assert {one.status for one in found.standings[1:3]} == {status}


def test_unanswerable_queries_that_the_metric_does_not_rank_are_counted(tmp_path: Path) -> None:
    values: list[Value] = [1.0, NOT_APPLICABLE] * 20
    keys: dict[str, Any] = {"gold": ("Yes", "Insufficient information."), "cites": OWN}
    plans = [ScoredRun(system=name, scores={EVIDENCE: values}, **keys) for name in ("naive", "kg")]
    found = verdict(tmp_path / "evidence", *plans)
    assert (found.n_queries, found.n_unanswerable) == (40, 20)
    assert verdict(tmp_path / "answers", *by_accuracy({"naive": 9}, n=40, **keys)).n_unanswerable == 0


def test_baselines_are_excluded_from_the_ranking(tmp_path: Path) -> None:
    plans = by_accuracy({"naive": 90, "kg": 150}, gold=NAMES, cites=OWN)
    gold = by_accuracy({"gold": 190}, gold=NAMES, cites=OWN, baseline=GOLD)
    alone, beside = verdict(tmp_path / "alone", *plans), verdict(tmp_path / "beside", *plans, *gold)
    assert (alone.outcome, alone.recommended) == (beside.outcome, beside.recommended)
    assert alone.standings[1].behind == beside.standings[1].behind
    assert beside.systems("baseline")[-1] == "gold"


def test_an_unfinished_run_is_listed_and_changes_nothing(make_run: MakeRun) -> None:
    runs = [make_run(system="naive"), make_run(system="kg", right={"inference_query": 0.2})]
    alone = find(group_of(*runs)).verdict
    beside = find(group_of(*runs, make_run(system="community", missing=3))).verdict
    assert (alone.outcome, alone.recommended) == (beside.outcome, beside.recommended)
    statuses = [(one.status, one.why) for one in beside.standings if one.system == "community"]
    assert statuses == [("not ranked", "unfinished")]
    assert any("community" in caveat for caveat in beside.caveats)


def test_only_a_run_that_is_not_running_is_to_be_run_again(make_run: MakeRun) -> None:
    run = make_run(missing=3)
    with run.exclusive():
        running = find(group_of(run)).verdict
    stopped = find(group_of(run)).verdict
    assert not any("again" in text for text in (running.headline, *running.caveats))
    assert any("again" in text for text in (stopped.headline, *stopped.caveats))


def test_a_run_that_fails_often_is_not_called_cheaper(make_run: MakeRun) -> None:
    cheap, dear = Usage(calls=1, input_tokens=20, output_tokens=1), Usage(calls=1, input_tokens=9000)
    runs = [make_run(system="naive", failing=4, usage=cheap), make_run(system="kg", usage=dear)]
    found = find(group_of(*runs)).verdict
    assert found.outcome != Outcome.CHEAPER
    assert found.cheaper is None
    assert found.caveats[0].startswith("naive: Failed on 4")
    assert next(one.failed for one in found.standings if one.system == "naive") == pytest.approx(0.2)


def test_a_leader_that_often_fails_is_to_be_repaired_and_a_tied_run_used_until_then(tmp_path: Path) -> None:
    failing = {"kg": [*right(125, 140), *[IMPUTED] * 60]}
    found = verdict(tmp_path, *by_accuracy({"naive": 120, **failing}), margin=1.0)
    assert (found.recommended, found.systems("tied")) == ("kg", ["naive"])
    assert "30 %" in found.headline
    assert "naive" in found.sentences[0]


def test_the_failures_of_another_run_are_said_before_its_score(tmp_path: Path) -> None:
    failing = [*[IMPUTED] * 60, *right(100, 140)]
    found = verdict(tmp_path, *by_accuracy({"naive": 120, "kg": failing}))
    assert "kg" in found.sentences[0]
    assert "30 %" in found.sentences[0]


def test_of_systems_that_beat_no_baseline_none_is_marked_as_the_choice(tmp_path: Path) -> None:
    blind = ScoredRun(system="closed-book", scores={"accuracy": right(110)}, baseline=BLIND)
    found = verdict(tmp_path, *by_accuracy({"naive": 95, "kg": 94}), blind)
    assert (found.outcome, found.recommended) == (Outcome.NOT_ABOVE_BASELINE, "naive")
    for is_brief in (True, False):
        marks = {row[0]: row[1] for row in leaderboard(found, brief=is_brief).rows}
        assert (marks["naive"], marks["closed-book"]) == ("", "baseline")


def test_the_cheapest_of_tied_systems_is_said_to_be_so_and_no_other(tmp_path: Path) -> None:
    for tokens, is_said in (((100, 900), True), ((900, 100), False)):
        scores = zip(("naive", "kg"), APART, reversed(tokens), strict=True)
        plans = [ScoredRun(system=name, scores={"accuracy": own}, input_tokens=n) for name, own, n in scores]
        found = verdict(tmp_path / str(tokens[0]), *plans)
        assert (found.outcome, found.recommended) == (Outcome.LEADING, "kg")
        assert ("costs the least" in found.sentences[0]) is is_said


@pytest.mark.parametrize(("failed", "hides_a_better_one"), [(100, True), (30, False)])
def test_a_winner_over_a_run_that_failed_is_one_for_now_if_that_run_might_have_led(
    tmp_path: Path, failed: int, hides_a_better_one: bool
) -> None:
    failing = [*[IMPUTED] * failed, *right(60, 200 - failed)]
    found = verdict(tmp_path, *by_accuracy({"naive": 140, "kg": failing}))
    assert found.outcome == Outcome.CLEAR_WINNER
    assert ("for now" in found.headline) is hides_a_better_one
    assert "kg" in found.sentences[0]


@pytest.mark.parametrize(
    ("plans", "outcome", "said"),
    [
        ([{"failing": 20}, {"failing": 20}], Outcome.NOTHING_ANSWERED, ""),
        ([{"evaluated": False}], Outcome.NOT_SCORED, "rag-harness evaluate"),
        ([{"missing": 3}, {"missing": 5}], Outcome.NOT_SCORED, "32 of 40"),
    ],
)
def test_runs_that_cannot_be_ranked_name_nobody(
    make_run: MakeRun, plans: Sequence[Mapping[str, Any]], outcome: Outcome, said: str
) -> None:
    runs = [make_run(system=name, **plan) for name, plan in zip(("naive", "kg"), plans, strict=False)]
    found = find(group_of(*runs)).verdict
    assert (found.outcome, found.recommended) == (outcome, None)
    assert said in found.headline


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


def test_the_order_of_the_runs_changes_nothing(tmp_path: Path) -> None:
    # The first run of one order and the last of the other is not ranked.
    plans = [
        ScoredRun("gold", {"accuracy": right(190)}, input_tokens=50, gold=NAMES, cites=OWN, baseline=GOLD),
        *(
            ScoredRun(name, {"accuracy": values}, input_tokens=tokens, gold=NAMES, cites=OWN)
            for name, values, tokens in (("bad", right(5), 10), ("naive", APART[0], 100), ("kg", APART[1], 2000))
        ),
    ]
    one, other = verdict(tmp_path / "one", *plans), verdict(tmp_path / "other", *reversed(plans))
    assert (one.recommended, known(one.cheaper).system) == ("kg", "naive")
    assert one == other


def test_few_queries_that_agree_are_no_certainty(tmp_path: Path) -> None:
    few = verdict(tmp_path / "few", *by_accuracy({"a": 1, "b": 1}, n=2))
    assert known(few.probability) < 0.9
    one_document = verdict(tmp_path / "one", *by_accuracy({"a": 104, "b": 100}, cites=("d0",)))
    assert one_document.probability is None


CEILING = [
    ScoredRun(name, {"accuracy": right(18, 18), "token_f1": [f1] * 18}, input_tokens=tokens)
    for name, tokens, f1 in (("naive", 400, 0.5), ("kg", 300, 0.6), ("community", 900, 0.5))
]


def test_where_all_have_the_best_value_the_cheapest_is_recommended_and_no_more_of_the_same(tmp_path: Path) -> None:
    found = verdict(tmp_path, *CEILING)
    assert (found.recommended, found.is_ceiling, found.separated_by, found.more) == ("kg", True, "token_f1", None)
    assert_is_short(found)
    few = verdict(tmp_path / "few", *by_accuracy({"naive": 2, "kg": 2}, n=2))
    assert not few.is_ceiling


@pytest.mark.parametrize("n", [4, 18, 60])
def test_where_all_retrieve_everything_answers_right_decide_and_then_the_cost(tmp_path: Path, n: int) -> None:
    def plans(naive: int) -> list[ScoredRun]:
        return [
            ScoredRun(
                name, {EVIDENCE: right(n, n), "accuracy": right(count, n)}, input_tokens=tokens, measure=EVIDENCE
            )
            for name, count, tokens in (("kg", n // 2, 100), ("naive", naive, 900))
        ]

    found = verdict(tmp_path / "more", *plans(n // 2 + 1 + n // 10))
    assert found.metric == EVIDENCE
    assert found.recommended == "naive"
    tie = known(found.tie_break)
    assert (tie.by, tie.system) == ("answers right", "kg")
    assert any("answers right" in text for text in (found.headline, *found.sentences))
    assert_is_short(found)
    equal = verdict(tmp_path / "equal", *plans(n // 2))
    assert (equal.recommended, known(equal.tie_break).by) == ("kg", "usd")


@pytest.mark.parametrize(
    ("gold", "naive", "share"), [(100, 96, 0.5), (190, 180, None), (130, 20, None), (3, 2, None)]
)
def test_a_model_that_fails_with_the_right_passages_is_named_before_the_systems(
    tmp_path: Path, gold: int, naive: int, share: float | None
) -> None:
    n = 200 if gold > 5 else 5
    keys: dict[str, Any] = {"gold": NAMES, "cites": OWN}
    plans = by_accuracy({"naive": right(naive, n), "kg": right(naive // 2, n)}, **keys)
    found = verdict(tmp_path, *plans, *by_accuracy({"gold": gold}, n=n, baseline=GOLD, **keys))
    assert (found.model_limit and found.model_limit.share) == share
    assert len(found.sentences) <= 3
    assert share is None or "gold" in found.sentences[0]


def test_after_an_exhausted_budget_a_larger_one_would_change_the_verdict(tmp_path: Path) -> None:
    for why, limit in (("the time is over", "minutes"), ("budget.usd is exhausted", "usd")):
        plans = by_accuracy({"naive": 3, "kg": 5}, n=20)
        runs = [write_run(tmp_path / limit, run) for run in plans]
        for run in runs:
            run.reopen()
            ids = tuple(row.query.query_id for row in run.sample())[:8]
            run.mark_done(Done(n_expected=8, n_ok=8, n_error=0, finished_at="2026-11-20"), ids, why)
        found = find(group_of(*runs)).verdict
        assert (found.n_left, found.stopped_by) == (12, limit)
        # The same command has the minutes anew, and dollars only if there are more.
        assert any("--set budget." in text for text in found.sentences) == (limit != "minutes")


def test_of_equal_runs_that_cost_the_same_the_one_with_the_smaller_index_is_recommended(tmp_path: Path) -> None:
    plans = by_accuracy({"hipporag": 18, "kg": 18, "naive": 18}, n=18)
    for plan, size in zip(plans, (900, 800, 70), strict=True):
        run = write_run(tmp_path, plan)
        run.write_index(index_record(index_id="", built_by=run.run_id, bytes_on_disk=size))
    runs = [RunDir(path) for path in sorted(tmp_path.glob("demo--*"))]
    assert find(group_of(*runs)).verdict.recommended == "naive"


@pytest.mark.parametrize("others", [(), ("b",)])
def test_missing_values_count_as_wrong_in_one_run_as_in_several(tmp_path: Path, others: Sequence[str]) -> None:
    scores: dict[str, int | Sequence[Value]] = {"a": [*[1.0] * 11, 0.0, *[FAILED] * 8], **dict.fromkeys(others, 5)}
    found = verdict(tmp_path, *by_accuracy(scores, n=20))
    assert [known(one.score).value for one in found.standings if one.system == "a"] == [pytest.approx(0.55)]


def test_an_equal_run_that_abstains_is_not_recommended_for_its_low_cost(tmp_path: Path) -> None:
    runs = [
        ScoredRun("naive", {EVIDENCE: right(1, 1)}, input_tokens=420),
        ScoredRun("kg", {EVIDENCE: right(1, 1)}, input_tokens=310, said=("Insufficient information.",)),
    ]
    found = verdict(tmp_path, *runs)
    assert found.recommended == "naive"
    assert {one.system: bool(one.why_unpriced) for one in found.standings} == {"naive": False, "kg": True}
    (other,) = [one for one in found.standings if one.system == "kg"]
    assert any(other.why_unpriced in text for text in found.sentences)


def test_every_mean_of_a_leaderboard_is_in_the_mix_of_query_types_of_its_score(tmp_path: Path) -> None:
    # Of the data set, nine tenths are of the first type; of the sample, half.
    keys: dict[str, Any] = {"types": ("common", "rare"), "type_mix": {"common": 90, "rare": 10}}
    alike: Sequence[Value] = [1.0, 0.0] * 20
    scores = {"token_f1": alike, "false_abstention_rate": alike}
    plans = [ScoredRun(system=name, scores=scores, **keys) for name in ("naive", "kg")]
    blind = ScoredRun(
        system="closed-book", scores={"false_abstention_rate": [0.0, 1.0] * 20}, baseline=BLIND, **keys
    )
    found = verdict(tmp_path, *plans, blind, measure="token_f1")
    rows = {one.system: one for one in found.standings}
    assert known(rows["naive"].score).value == pytest.approx(0.9)
    assert rows["naive"].columns[ABSTAINED] == pytest.approx(0.9)
    assert rows["closed-book"].columns[ABSTAINED] == pytest.approx(0.1)


def test_a_lead_on_these_documents_alone_is_compared_by_the_interval_for_these(tmp_path: Path) -> None:
    few = by_accuracy({"naive": 30, "kg": 18}, n=60, cites=("d1", "d2", "d3"))
    runs = [write_run(tmp_path, plan) for plan in few]
    assert find(group_of(*runs)).verdict.systems("worse here") == ["kg"]
    (compared,) = [one for one in compare_runs(runs, load_prices()).measures if one.measure.name == "accuracy"]
    best, (lead,) = ranked_places(compared)[0], leads_of(compared, ranked_places(compared)[0])
    _, low, high = gap_of(compared, lead, best)
    assert known(low) < known(high) < 0
    assert lead.gap(compared)[2] is None


def test_no_dollars_are_named_if_one_of_two_equal_runs_has_no_price(tmp_path: Path) -> None:
    for name in ("a", "z"):
        priced_run = ScoredRun(system=name, scores={"accuracy": right(120)})
        other = ScoredRun(
            system="m", scores={"accuracy": right(120)}, usage={"generator": Usage(calls=1, unmetered_calls=1)}
        )
        found = verdict(tmp_path / name, priced_run, other)
        assert found.outcome == Outcome.EQUALLY_GOOD
        assert "$" not in " ".join((found.headline, *found.sentences))


def test_the_dollars_of_a_run_that_often_fails_are_a_lower_bound(tmp_path: Path) -> None:
    failing: list[Value] = [*right(60, 60), *[IMPUTED] * 140]
    found = verdict(tmp_path, *by_accuracy({"failing": failing, "naive": 60}))
    rows = {one.system: known(one.usd_per_1000) for one in found.standings}
    assert (rows["failing"].at_least, rows["naive"].at_least) == (True, False)
    assert "$" not in " ".join(found.sentences)


def test_a_word_metric_that_a_constant_answer_nearly_satisfies_is_named_in_a_note(tmp_path: Path) -> None:
    alike = tuple(f"The code of item {number} is zz{number} by the registry" for number in range(60))
    plans = [
        ScoredRun(name, {"token_f1": [f1] * 60}, gold=alike, measure="token_f1")
        for name, f1 in (("naive", 0.9), ("kg", 0.95))
    ]
    unlike = [replace(plan, gold=(), name=f"other-{plan.system}") for plan in plans]
    noted, silent = (verdict(tmp_path / name, *own) for name, own in (("alike", plans), ("unlike", unlike)))
    assert any("constant answer" in one for one in noted.caveats)
    assert not any("constant answer" in one for one in silent.caveats)
