"""The answer in words: what is said of clear winners, ties, baselines, costs, and of runs that say little."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from paired_runs import FAILED, NOT_APPLICABLE, ScoredRun, Value, write_run
from report_groups import group_of, right, written

from harness.core.records import Cost, EvaluationRecord, Usage
from harness.display import Rank
from harness.report.comparison.compare import compare_runs
from harness.report.view import load_groups
from harness.report.words.findings import Findings, find
from harness.report.words.headlines import LONGEST
from harness.report.words.wording import odds
from harness.statistics.prices import load_prices
from harness.store import RunDir

BASELINE = "It is given the reference evidence: a ceiling for the systems, not one of them."
MakeRun = Callable[..., RunDir]
MULTIHOP = ("comparison_query", "inference_query", "null_query", "temporal_query")
"""The types of a run that nothing else is wished of."""


def scored(results: Path, counts: Mapping[str, int]) -> Findings:
    return find(
        written(
            results, *(ScoredRun(system=name, scores={"accuracy": right(count)}) for name, count in counts.items())
        )
    )


def said(findings: Findings) -> str:
    return "\n".join((findings.headline, *findings.sentences))


def by_judge(judge: str, scores: Mapping[str, Sequence[Value]], system: str) -> ScoredRun:
    evaluation = EvaluationRecord(
        evaluator="ragas",
        version="1",
        models={"judge": {"model": judge}},
        measures=tuple(scores),
        cost=Cost(wall_s=1.0),
    )
    return ScoredRun(system=system, scores=scores, evaluator=evaluation)


def test_one_clear_winner_is_named_with_its_lead_and_interval(tmp_path: Path) -> None:
    findings = scored(tmp_path, {"naive": 90, "kg": 150, "community": 60})
    assert re.fullmatch(
        r"Choose kg: best in accuracy \(75\.0 % of 200 queries\), ahead of naive by 30\.0 points "
        r"\(97\.5 % interval 2\d\.\d to 3\d\.\d\)\.",
        findings.headline,
    )
    assert findings.order == (1, 0, 2)
    assert findings.ranks == (Rank(2, 2), Rank(1, 1), Rank(3, 3))
    assert findings.measure == "accuracy"


def test_two_that_are_as_good_within_the_margin_are_both_to_be_chosen_and_never_called_equal(
    tmp_path: Path,
) -> None:
    findings = scored(tmp_path, {"kg": 124, "recursive": 122, "community": 60})
    assert findings.headline == "kg or recursive, within 5 points in accuracy (62.0 % and 61.0 % of 200 queries)."
    assert "equal" not in said(findings)
    assert findings.ranks == (Rank(1, 2), Rank(1, 2), Rank(3, 3))


def test_two_that_are_neither_told_apart_nor_as_good_are_undecided_and_it_is_said_how_many_queries_would_do(
    tmp_path: Path,
) -> None:
    plans = [
        ScoredRun(system="naive", scores={"accuracy": [*right(80, 100), *right(20, 100)]}),
        ScoredRun(system="kg", scores={"accuracy": [*right(30, 100), *right(73, 100)]}),
    ]
    findings = find(written(tmp_path, *plans))
    assert re.fullmatch(
        r"Undecided between kg and naive in accuracy \(51\.5 % and 50\.0 % of 200 queries\): "
        r"about \d,\d00 queries needed to tell 5 points apart\.",
        findings.headline,
    )
    assert "kg is not told apart from naive: a difference of 1.5 points (95 % interval" in said(findings)
    assert re.search(
        r"200 queries and 1 pair find a true difference of 1\d\.\d points in accuracy four", said(findings)
    )
    assert "at most" not in said(findings)


def test_who_is_out_of_an_undecided_contest_is_named_behind_it(tmp_path: Path) -> None:
    plans = [
        ScoredRun(system="naive", scores={"accuracy": [*right(80, 100), *right(20, 100)]}),
        ScoredRun(system="kg", scores={"accuracy": [*right(30, 100), *right(73, 100)]}),
        ScoredRun(system="community", scores={"accuracy": right(30)}),
    ]
    headline = find(written(tmp_path, *plans)).headline
    assert headline.startswith("Undecided between kg and naive in accuracy (51.5 % and 50.0 % of 200 queries): ")
    assert headline.endswith(" apart; kg is ahead of community.")


def test_more_queries_are_asked_for_than_there_are(tmp_path: Path) -> None:
    plans = [
        ScoredRun(system="naive", scores={"accuracy": [*right(80, 100), *right(20, 100)]}),
        ScoredRun(system="kg", scores={"accuracy": [*right(30, 100), *right(73, 100)]}),
    ]
    needed = re.search(r"about ([\d,]+) queries needed", find(written(tmp_path, *plans)).headline)
    assert needed
    assert int(needed[1].replace(",", "")) > 200


def test_three_systems_that_tie_have_one_headline(tmp_path: Path) -> None:
    findings = scored(tmp_path, {"naive": 100, "kg": 102, "recursive": 101})
    assert findings.headline == (
        "kg, recursive or naive, within 5 points in accuracy (from kg's 51.0 % to naive's 50.0 % of 200 queries)."
    )


def test_the_margin_decides_what_is_as_good_and_is_stated(tmp_path: Path) -> None:
    plans = [ScoredRun(system=n, scores={"accuracy": right(k)}) for n, k in (("naive", 100), ("kg", 103))]
    group = written(tmp_path, *plans)
    assert "within 5 points" in find(group).headline
    assert find(group, margin=1.0).headline.startswith("Undecided between kg and naive")
    assert "within 10 points" in find(group, margin=10.0).headline


@pytest.mark.slow
def test_of_two_leaders_that_differ_from_each_other_only_the_first_is_best(tmp_path: Path) -> None:
    # a and c share no error pattern; b agrees with c wherever it is better.
    a = [1.0] * 110 + [0.0] * 90
    b = [0.0] * 95 + [1.0] * 105
    c = [0.0] * 105 + [1.0] * 95
    findings = find(
        written(
            tmp_path, *(ScoredRun(system=n, scores={"accuracy": v}) for n, v in (("a", a), ("b", b), ("c", c)))
        )
    )
    assert findings.headline.startswith("Undecided between 3 systems in accuracy (from a's ")


def test_a_baseline_is_a_mark_and_neither_ranked_nor_in_the_headline(tmp_path: Path) -> None:
    findings = find(
        written(
            tmp_path,
            ScoredRun(system="gold", scores={"accuracy": right(160)}, baseline=BASELINE),
            ScoredRun(system="naive", scores={"accuracy": right(120)}),
            ScoredRun(system="kg", scores={"accuracy": right(124)}),
        )
    )
    assert "gold" not in findings.headline
    assert findings.order == (2, 1, 0)
    assert findings.ranks[0] is None
    assert (
        "gold, a baseline that does not compete, reaches 80.0 %, above kg by 18.0 points (95 % interval"
        in said(findings)
    )
    assert findings.comparison is not None
    assert [one.label for one in findings.comparison.runs] == ["naive", "kg"]


def test_what_costs_many_times_more_stands_in_the_headline_and_with_its_interval_below(tmp_path: Path) -> None:
    findings = find(
        written(
            tmp_path,
            ScoredRun(system="naive", scores={"accuracy": right(120)}),
            ScoredRun(system="community", scores={"accuracy": right(121)}, input_tokens=30_000),
        )
    )
    assert re.search(r"; community takes 1\d\d times the tokens of naive \(60\.0 %\)\.$", findings.headline)
    assert re.search(r"1\d\d times as many, a difference of 29,900 \(the same on every query\)", said(findings))


def test_of_costs_that_a_test_cannot_tell_apart_nobody_takes_the_fewest(tmp_path: Path) -> None:
    few = {"accuracy": right(2, n=4)}
    plans = [ScoredRun(system=name, scores=few, input_tokens=tokens) for name, tokens in (("a", 100), ("b", 900))]
    (told,) = [one for one in find(written(tmp_path, *plans)).sentences if "tokens a query" in one]
    assert told == (
        "Of these runs, none is shown to take fewer tokens a query: from a (106, with accuracy 50.0 %) to b (906, "
        "with accuracy 50.0 %), p = 0.125 after Holm's correction."
    )


def test_who_is_not_told_apart_from_the_cheapest_shares_its_place(tmp_path: Path) -> None:
    taken = {"a": [2.0, 2.2] * 100, "b": [2.22, 2.0] * 100, "c": [9.0, 9.5] * 100}
    plans = [ScoredRun(system=n, scores={"accuracy": right(100)}, latency_s=one) for n, one in taken.items()]
    (told,) = [one for one in find(written(tmp_path, *plans)).sentences if "seconds a query" in one]
    assert told.startswith(
        "Of these runs, a and b take the fewest seconds a query (2.10 to 2.11, with accuracy 50.0 %) and c the "
    )


def test_of_several_ties_without_a_difference_the_least_certain_is_told(tmp_path: Path) -> None:
    same = ScoredRun(system="same", scores={"accuracy": right(2, n=8)})
    twin = ScoredRun(system="twin", scores={"accuracy": right(2, n=8)})
    other = ScoredRun(system="other", scores={"accuracy": [*right(0, n=6), 1.0, 1.0]})
    findings = find(written(tmp_path, same, twin, other))
    assert "(the same on every query)" not in said(findings)
    assert re.search(r"the widest difference is 0\.0 points \(98\.3 % interval -\d", said(findings))
    assert "at most" not in said(findings)


def test_a_difference_in_refusals_is_said_where_it_is_more_than_chance(tmp_path: Path) -> None:
    findings = find(
        written(
            tmp_path,
            *(
                ScoredRun(system=name, scores={"accuracy": right(100), "hallucination_rate": right(made_up)})
                for name, made_up in (("naive", 120), ("kg", 20))
            ),
        )
    )
    told = "kg has a lower hallucination rate than naive (10.0 % against 60.0 % of 200 queries): 50.0 points"
    assert f"Looked at besides: {told}" in said(findings)


def test_without_accuracy_the_first_retrieval_measure_of_all_ranks(tmp_path: Path) -> None:
    hits = {"naive": 60, "kg": 150}
    findings = find(
        written(tmp_path, *(ScoredRun(system=name, scores={"Recall@10": right(n)}) for name, n in hits.items()))
    )
    assert findings.measure == "Recall@10"
    assert findings.headline.startswith("Choose kg: best in Recall@10 of documents (75.0 %")


def test_a_run_that_another_judge_scored_is_not_ranked_with_the_others(tmp_path: Path) -> None:
    plans = [
        by_judge(judge, {"ragas_faithfulness": right(n)}, system)
        for system, judge, n in (("naive", "4o", 80), ("kg", "4o", 150), ("community", "mini", 190))
    ]
    findings = find(written(tmp_path, *plans))
    assert "community" not in findings.headline
    assert findings.ranks == (Rank(2, 2), Rank(1, 1), None)
    assert "community is not ranked: faithfulness was scored in another way" in said(findings)


def test_a_comparison_pairs_only_runs_that_were_scored_in_one_way(tmp_path: Path) -> None:
    plans = [
        by_judge(judge, {"ragas_faithfulness": right(n)}, system)
        for system, judge, n in (("naive", "4o", 80), ("kg", "4o", 150), ("community", "mini", 190))
    ]
    measures = compare_runs([write_run(tmp_path, plan) for plan in plans], load_prices()).measures
    (judged,) = [one for one in measures if one.measure.name == "ragas_faithfulness"]
    assert [(pair.a, pair.b) for pair in judged.pairs] == [(0, 1)]
    assert judged.ranks == ((2, 2), (1, 1), None)


def test_one_run_is_described(tmp_path: Path) -> None:
    findings = scored(tmp_path, {"naive": 100})
    assert findings.headline == "naive: accuracy 50.0 % of 200 answers (95 % interval 43.1 to 56.9)."
    assert findings.comparison is None
    assert findings.why_not


def test_a_run_without_scores_says_what_to_run(make_run: MakeRun) -> None:
    findings = find(group_of(make_run(evaluated=False), make_run(system="kg", evaluated=False)))
    assert findings.headline == "Nothing was scored yet, so no system ranks: run rag-harness evaluate."
    assert findings.measure is None
    assert findings.ranks == (None, None)


def test_a_run_without_scores_among_others_is_named_and_not_ranked(make_run: MakeRun) -> None:
    findings = find(group_of(make_run(), make_run(system="kg"), make_run(system="community", evaluated=False)))
    assert "community has no scores and is not ranked: run rag-harness evaluate." in findings.sentences
    assert findings.order[-1] == 2


def test_an_unfinished_run_stands_apart_and_moves_nothing_that_is_said_of_others(make_run: MakeRun) -> None:
    whole = [
        make_run(right=dict.fromkeys(MULTIHOP, share), system=name) for name, share in (("ua", 0.9), ("ub", 0.2))
    ]
    cut = make_run(system="uc", missing=15, right=dict.fromkeys(MULTIHOP, 1.0))
    alone, beside = find(group_of(*whole)), find(group_of(*whole, cut))
    assert alone.headline == beside.headline
    apart = (
        "uc is unfinished: 15 of 20 answers missing. It stands apart: no rank, and nothing is compared with it."
    )
    assert set(beside.sentences) == {*alone.sentences, apart}
    assert beside.ranks == (*alone.ranks, None)
    assert beside.order[-1] == 2
    assert beside.ranked is not None
    assert alone.ranked is not None
    assert (beside.ranked.query_ids, len(beside.ranked.pairs)) == (alone.ranked.query_ids, 1)


def test_where_nothing_is_finished_nothing_ranks_and_it_is_said_how_far_they_are(make_run: MakeRun) -> None:
    findings = find(group_of(make_run(missing=3), make_run(system="kg", missing=8)))
    assert findings.headline == "Nothing ranks yet: no run is finished (29 of 40 answers are there)."
    assert findings.ranks == (None, None)
    one = find(group_of(make_run(missing=3)))
    assert one.headline == "naive is not finished (17 of 20 answers): no figure of it is a result yet."


def test_of_one_finished_run_among_unfinished_ones_only_that_one_is_described(make_run: MakeRun) -> None:
    findings = find(group_of(make_run(), make_run(system="kg", missing=8)))
    assert findings.headline.startswith("naive: accuracy ")
    assert findings.why_not == "fewer than two runs are finished, and a comparison takes two"


def test_a_system_that_failed_on_some_queries_says_so(make_run: MakeRun) -> None:
    group = group_of(make_run(), make_run(system="kg", failing=3))
    told = (
        "kg failed on 3 of 20 queries; each counts with the worst value, and above 1 % nothing is said of what it "
        "costs."
    )
    assert told in find(group).sentences


def test_a_run_that_fails_often_is_called_neither_cheap_nor_fast(make_run: MakeRun) -> None:
    cheap = Usage(calls=1, input_tokens=1, output_tokens=0)
    often = make_run(system="broken", failing=12, usage=cheap, latency_s=0.001)
    dear = make_run(system="kg", usage=Usage(calls=1, input_tokens=9_000, output_tokens=0), latency_s=9.0)
    findings = find(group_of(make_run(), often, dear))
    costs = [one for one in findings.sentences if "fewest" in one]
    assert costs
    assert all("broken" not in one for one in costs)
    assert "broken" not in findings.headline.split(";")[-1]
    assert findings.priced is not None
    assert [one.label for one in findings.priced.runs] == ["naive", "kg"]


def test_what_is_cheap_stands_beside_what_it_gets_right(make_run: MakeRun) -> None:
    few = make_run(system="cheap", usage=Usage(calls=1, input_tokens=9, output_tokens=0), right={})
    findings = find(group_of(make_run(), few))
    (told,) = [one for one in findings.sentences if "tokens a query" in one]
    assert re.search(r"cheap takes the fewest tokens a query \(9\.00, with accuracy \d\d\.\d %\)", told)


@pytest.mark.parametrize("evaluated", [True, False])
def test_systems_that_failed_everywhere_have_no_winner(make_run: MakeRun, evaluated: bool) -> None:
    runs = [make_run(system=name, failing=20, evaluated=evaluated) for name in ("naive", "kg")]
    findings = find(group_of(*runs))
    assert findings.headline.startswith("No system answered a query: all ")
    assert not re.search(r"points|queries would|told apart", said(findings))


def test_a_measure_without_any_value_ranks_nothing(tmp_path: Path) -> None:
    plans = [ScoredRun(system=name, scores={"accuracy": [NOT_APPLICABLE] * 9}) for name in ("naive", "kg")]
    findings = find(written(tmp_path, *plans))
    assert findings.measure is None
    assert findings.comparison is None


@pytest.mark.slow
def test_names_are_only_text_and_the_headline_is_short(tmp_path: Path) -> None:
    evil = "\x1b[2J\u202e<b>" + "x" * 300
    findings = scored(tmp_path, {f"{evil}{number}": count for number, count in enumerate((90, 100, 110, 40))})
    assert len(findings.headline) <= LONGEST
    assert "\x1b" not in said(findings)
    assert "\u202e" not in said(findings)


@pytest.mark.slow
def test_the_order_of_the_runs_changes_no_word_of_a_headline(tmp_path: Path) -> None:
    plans = [ScoredRun(system=n, scores={"accuracy": right(k)}) for n, k in (("a", 90), ("b", 120), ("c", 60))]
    runs = [write_run(tmp_path, plan) for plan in plans]
    headlines = {find(group_of(*order)).headline for order in (runs, runs[::-1])}
    assert len(headlines) == 1


def test_other_samples_of_a_data_set_stand_apart_and_the_note_says_what_compares_them(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path, ScoredRun(system=name, scores={"accuracy": right(5, n)}, digest=digest * 64))
        for name, n, digest in (("naive", 20, "d"), ("kg", 30, "e"))
    ]
    first, second = load_groups(runs, load_prices())
    (note,) = [note for note in first.notes if "stand apart" in note]
    assert "other queries (20 here, 30 there, 20 of both)" in note
    assert note.endswith(f"rag-harness compare {runs[0].run_id} {runs[1].run_id}")
    assert any("30 here, 20 there" in note for note in second.notes)


def test_a_run_that_another_is_better_than_is_not_the_best_of_the_few_queries_that_all_have(
    tmp_path: Path,
) -> None:
    ids = [f"q{number:03d}" for number in range(200)]
    # Of the ten queries that all three have, b has fewer right than a; of all two hundred, far more.
    findings = find(
        written(
            tmp_path,
            ScoredRun(system="a", scores={"accuracy": right(60)}, queries=ids),
            ScoredRun(system="b", scores={"accuracy": [*right(5, 10), *right(190, 190)]}, queries=ids),
            ScoredRun(system="c", scores={"accuracy": [*right(4, 10), *[FAILED] * 190]}, queries=ids),
        )
    )
    assert findings.headline.startswith("Choose b: ")
    assert "of 200 queries" in findings.headline
    assert "c is not ranked by accuracy: it has a value on 10 of 200 queries only." in findings.sentences
    assert "a is ahead of b" not in said(findings)


def test_means_and_pairs_are_over_the_queries_that_all_have(tmp_path: Path) -> None:
    findings = find(
        written(
            tmp_path,
            ScoredRun(system="a", scores={"accuracy": right(40)}),
            ScoredRun(system="b", scores={"accuracy": right(190)}),
            ScoredRun(system="c", scores={"accuracy": [FAILED, *[0.0] * 198, FAILED]}),
        )
    )
    assert findings.headline.startswith(
        "Choose b: best in accuracy (95.5 % of 198 queries), ahead of a by 75.8 points"
    )
    assert findings.ranked is not None
    assert {pair.n for pair in findings.ranked.pairs} == {198}
    rows = [row.mean for row in findings.rows if row]
    assert rows == pytest.approx(findings.ranked.means)


def test_all_that_cost_the_least_are_named(tmp_path: Path) -> None:
    tokens = {"naive": 100, "recursive": 100, "kg": 900}
    plans = [ScoredRun(system=name, scores={"accuracy": right(100)}, input_tokens=n) for name, n in tokens.items()]
    (told,) = [one for one in find(written(tmp_path, *plans)).sentences if "tokens a query" in one]
    assert told.startswith(
        "Of these runs, naive and recursive take the fewest tokens a query (204, with accuracy 50.0 %) and kg "
    )


def test_a_baseline_that_is_better_where_less_is_better_is_said_to_be_below(tmp_path: Path) -> None:
    findings = find(
        written(
            tmp_path,
            ScoredRun(system="gold", scores={"hallucination_rate": right(20)}, baseline=BASELINE),
            ScoredRun(system="naive", scores={"hallucination_rate": right(120)}),
        )
    )
    assert "gold, a baseline that does not compete, reaches 10.0 %, below naive by 50.0 points" in said(findings)


def test_failures_among_repeats_are_counted_in_answers(make_run: MakeRun) -> None:
    group = group_of(make_run(repeats=2), make_run(system="kg", failing=3, repeats=2))
    assert any(one.startswith("kg failed on 3 of 40 answers; each counts") for one in find(group).sentences)


def test_one_index_among_several_is_named(make_run: MakeRun) -> None:
    findings = find(group_of(make_run(), make_run(system="kg", indexed=False)))
    assert "Building the index of naive took 1,324,800 tokens." in findings.sentences


def test_a_chance_is_said_to_be_small_and_never_zero() -> None:
    assert odds(0.0) == "p < 0.001"
    assert odds(0.0314) == "p = 0.031"
