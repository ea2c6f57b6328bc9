"""From a ranking to a verdict: which outcome it is, which run to choose, and what would change that."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.config import OWN_DOCUMENTS
from harness.display import counted, printable, short_number
from harness.evaluators.score_preconditions import is_null, stated_answers
from harness.report.labels import shortened
from harness.report.notes import how_to_finish, is_serious
from harness.report.verdict.baselines import Baseline, Baselines, lead_over, model_limit
from harness.report.verdict.headline import headline
from harness.report.verdict.ranking import Ranking, is_only_described, is_scored
from harness.report.verdict.sentences import sentences
from harness.report.verdict.standings import Rows, standings
from harness.report.verdict.ties import fewer_right, is_ceiling, separated_by, tie_break
from harness.report.verdict.types import UNFINISHED, Cheaper, Choice, MoreQueries, Outcome, Standing, Verdict
from harness.report.view import Group, RunView
from harness.statistics.confidence_intervals import ENOUGH
from harness.statistics.difference_tests import ALPHA
from harness.statistics.non_inferior import as_good, cheapest_as_good
from harness.statistics.paired_comparison import MeasureComparison
from harness.statistics.power import MOST_QUERIES, most_discordant, queries_needed, rounded_up
from harness.statistics.query_values import COSTS
from harness.statistics.recommendation import MISSING_MATTERS, Lead, probability_within

MUCH_CHEAPER = 2.0
"""A run is named as a cheaper alternative if the recommended one costs so many times as much."""
_MOSTLY_WORDING = 0.5
"""Score of a constant answer, from 0 to 1, above which a word metric says little about facts."""
_OFTEN_LABELLED = 0.1
"""As a share of the answers of a run."""
_CHEAPER = 0.9


def decide(ranking: Ranking, baselines: Baselines, rows: Rows) -> Verdict:
    """The verdict on a group; `rows`: the mean of each run, as in the leaderboard."""
    group, compared = ranking.group, ranking.ranked
    outcome, said = _why_nothing_ranks(ranking)
    verdict = Verdict(
        dataset=group.title,
        digest=printable(group.digest),
        n_queries=len(group.widest.frame.query_types),
        n_questions=len(group.widest.frame.query_types) - len(group.widest.frame.repeated),
        outcome=outcome,
        headline=said,
        sentences=(),
    )
    if said:
        caveats = (*_weaknesses(group), *_other_notes(group))
        return replace(verdict, standings=standings(ranking, rows), caveats=caveats)
    choice = _choice(ranking, baselines)
    view = ranking.entrants[choice.place] if choice.recommends else None
    # Baselines are of the metric that should rank.
    bounded, own = ranking.instead_of or ranking.measure, Baselines() if ranking.instead_of else baselines
    shown = standings(ranking, rows, choice, own.constant)
    applies = frozenset[str]().union(*(one.values[ranking.measure].expected for one in ranking.entrants))
    verdict = replace(
        verdict,
        outcome=choice.outcome,
        metric=ranking.measure,
        metric_title=ranking.display_name,
        is_share=ranking.is_share,
        higher_is_better=compared is None or compared.measure.higher_is_better is not False,
        is_by_evidence=bool(ranking.instead_of),
        unranked_title=group.display_name(ranking.instead_of) if ranking.instead_of else "",
        n_unanswerable=sum(
            is_null(row.reference) and one not in applies for one, row in group.widest.sample.items()
        ),
        margin=ranking.margin,
        lower_baseline=own.lower.label if own.lower else "",
        recommended=view.label if view else None,
        recommended_run=view.run.run_id if view else None,
        probability=_probability(ranking, choice),
        at_most_worse=_at_most_worse(ranking, choice, shown),
        cheaper=_much_cheaper(ranking, choice),
        tie_break=tie_break(ranking, choice),
        model_limit=model_limit(group, bounded, baselines, ranking.entrants, ranking.mix),
        cost=ranking.costs[0],
        more=_more_queries(ranking, choice),
        is_ceiling=is_ceiling(ranking),
        separated_by=separated_by(ranking) if is_ceiling(ranking) else "",
        **_stopped(group),
        standings=shown,
    )
    verdict = replace(verdict, caveats=tuple(_caveats(ranking, verdict)))
    return replace(verdict, headline=headline(verdict), sentences=sentences(verdict))


def _why_nothing_ranks(ranking: Ranking) -> tuple[Outcome, str]:  # noqa: PLR0911 - a table of reasons
    """The outcome for runs of which none can be chosen, and why; an empty text: some can be ranked."""
    views = ranking.group.views
    competing = [view for view in views if not view.is_baseline] or [*views]
    pending = [view for view in competing if not view.is_complete]
    if ranking.measure and not ranking.entrants:
        if len(pending) < len(competing):
            return Outcome.NOT_SCORED, f"No finished run has enough values of {ranking.display_name}."
        done, whole = sum(view.n_answered for view in pending), sum(view.n_expected for view in pending)
        finish = how_to_finish(all(view.is_running for view in pending))
        said = f"No run is finished: {done:,} of {counted(whole, 'answer')} are there. {finish}"
        return Outcome.NOT_SCORED, said
    if ranking.measure and ranking.ranked is None and len(ranking.entrants) > 1:
        return Outcome.NOT_SCORED, f"No query has a value of {ranking.display_name} in two runs."
    if all(view.n_answered and view.n_errors == view.n_answered for view in views):
        failed = counted(sum(view.n_errors for view in views), "answer")
        return Outcome.NOTHING_ANSWERED, f"No system answered a query: all {failed} failed."
    if ranking.measure:
        return Outcome.NOT_SCORED, ""
    if not any(view.n_answered for view in views):
        return Outcome.NOTHING_ANSWERED, "No query was answered yet."
    if all(is_only_described(ranking.group, view) for view in competing):
        return Outcome.NOT_SCORED, f"No metric can rank these runs: {_without_gold(competing)}."
    if any(is_scored(view) for view in competing):
        return Outcome.NOT_SCORED, "No metric can rank these runs: which values are good is not known here."
    if any(measure not in COSTS for view in competing for measure in view.values):
        return Outcome.NOT_SCORED, "No score has a value: the notes say why."
    names = shlex.join(printable(view.run.run_id, 200) for view in competing)
    return Outcome.NOT_SCORED, f"Not evaluated yet. Run: rag-harness evaluate {names}"


def _weaknesses(group: Group) -> Iterator[str]:
    yield from filter(is_serious, group.note_lines)
    for view in group.views:
        if view.why_no_ceiling:
            yield f"{shortened(view.label)}: {view.why_no_ceiling}"
    # For each category with a note the run with the most answers in it, if that is a tenth of its answers.
    for measure in group.known.values():
        for label in (one for one in measure.labels if one.note):
            n, view = max(((one.n_labelled(measure, label), one) for one in group.views), key=lambda each: each[0])
            if n and n >= _OFTEN_LABELLED * view.n_answered:
                yield f"{shortened(view.label)}: {n:,} of {counted(view.n_answered, 'answer')} {label.note}."


def _choice(ranking: Ranking, baselines: Baselines) -> Choice:
    """Which run to choose: see docs/decisions/0017-how-a-run-is-recommended.md."""
    compared, race = ranking.ranked, ranking.race
    best = ranking.order[0]
    if all(view.is_baseline for view in ranking.entrants):
        return Choice(best, Outcome.ONLY_BASELINES, recommends=False)
    if compared is not None and not ranking.instead_of and _is_worst_throughout(compared):
        return Choice(best, Outcome.NOTHING_RIGHT, recommends=False)
    if race is not None:
        choice = _choice_of_race(ranking)
    elif compared is None:
        choice = Choice(0, Outcome.ONE_SYSTEM)
    else:
        choice = _choice_of_tests(ranking)
    if ranking.instead_of or baselines.cannot_rank:
        # Of too few queries nothing is known about the model either.
        is_few = bool(ranking.instead_of) and choice.outcome == Outcome.TOO_FEW
        return choice if is_few else replace(choice, outcome=Outcome.MODEL_CANNOT_ANSWER)
    if baselines.lower is None or _is_above(ranking, ranking.entrants[choice.place], baselines.lower):
        return choice
    if race is None and choice.place != best and _is_above(ranking, ranking.entrants[best], baselines.lower):
        return _choice_of_tests(ranking, by_cost=False)
    return replace(choice, outcome=Outcome.NOT_ABOVE_BASELINE)


def _is_above(ranking: Ranking, view: RunView, lower: Baseline) -> bool:
    """Whether the run is significantly better than the lower baseline; True if that is not known."""
    lead = lead_over(ranking.group, ranking.measure, view, lower)
    return lead is None or lead.is_shown_here


def _is_worst_throughout(compared: MeasureComparison) -> bool:
    ends, way = compared.measure.ends, compared.measure.higher_is_better
    if ends is None or way is None:
        return False
    worst = ends[0] if way else ends[1]
    return not any(compared.n_missing) and all(mean is None or mean == worst for mean in compared.means)


def _stopped(group: Group) -> dict[str, Any]:
    """How many queries a budget left out of every run, and which budget."""
    reach = group.widest.run.reach()
    if reach is None or not reach.query_ids or group.widest.race:
        return {}
    left = int(group.widest.manifest.dataset.get("n_queries", 0)) - len(reach.query_ids)
    limits = [name for name in ("usd", "tokens") if f"budget.{name}" in reach.why]
    return {"n_left": max(0, left), "stopped_by": next(iter(limits), "minutes")}


def _choice_of_tests(ranking: Ranking, *, by_cost: bool = True) -> Choice:
    """`by_cost`: a cheaper run that is as good is chosen instead of the one with the best mean."""
    best = ranking.order[0]
    if ranking.ranked is None or not ranking.leads:
        return Choice(best, Outcome.LEADING)
    cheaper = _cheaper_as_good(ranking, ranking.ranked) if by_cost else None
    if cheaper is not None:
        return cheaper
    # After repeated looks too.
    if ranking.is_won and (ranking.anytime_p is None or ranking.anytime_p <= ALPHA):
        return Choice(best, Outcome.CLEAR_WINNER)
    tied = ranking.leading if by_cost else []
    good_ones, candidates = _all_as_good(ranking, tied), [one for one in tied if one not in fewer_right(ranking)]
    if good_ones == {*tied} and len(tied) > 1:
        return Choice(_cheapest(candidates, ranking.costs[1], best), Outcome.EQUALLY_GOOD, good_ones)
    if by_cost and is_ceiling(ranking):
        best = min(candidates, key=lambda place: ranking.costs[1][place] or 0.0)
    most = MISSING_MATTERS * ranking.ranked.n_common
    if any(lead.n_missing > most for lead in ranking.open_leads):
        return Choice(best, Outcome.INCONCLUSIVE)
    return Choice(best, Outcome.TOO_FEW if ranking.ranked.n_common < ENOUGH else Outcome.LEADING)


def _cheaper_as_good(ranking: Ranking, compared: MeasureComparison) -> Choice | None:
    """The cheapest run that is as good as every other one, if it is cheaper than the best."""
    costs, best, margin = ranking.costs[1], ranking.order[0], ranking.margin_value
    own, behind = costs[best], fewer_right(ranking)
    if margin is None or own is None:
        return None
    # A run that saves less than a tenth is no candidate, as one whose cost is unknown.
    candidates = [
        cost if place == best or (cost is not None and cost <= _CHEAPER * own and place not in behind) else None
        for place, cost in enumerate(costs)
    ]
    good = cheapest_as_good(compared, candidates, margin=margin)
    if good is None or good.place == best:
        return None
    return Choice(good.place, Outcome.CHEAPER, _all_as_good(ranking, range(len(costs))))


def _choice_of_race(ranking: Ranking) -> Choice:
    race = ranking.race
    runs = [view.manifest.run_id for view in ranking.entrants]
    left = [runs.index(run_id) for run_id in race.left if run_id in runs] if race else []
    if race is None or not left or race.ended != "decided":
        return Choice(left[0] if left else ranking.order[0], Outcome.LEADING)
    if len(left) == 1:
        return Choice(left[0], Outcome.CLEAR_WINNER)
    return Choice(_cheapest(left, ranking.costs[1], left[0]), Outcome.EQUALLY_GOOD, frozenset(left))


def _all_as_good(ranking: Ranking, places: Collection[int]) -> frozenset[int]:
    """Those of these runs that are shown to be as good as each of them, within the margin."""
    compared, margin, tried = ranking.ranked, ranking.margin_value, max(1, len(places) - 1)
    if compared is None or margin is None:
        return frozenset()
    return frozenset(place for place in places if as_good(compared, place, places, margin, tried) is not None)


def _cheapest(places: Sequence[int], costs: Sequence[float | None], best: int) -> int:
    """The cheapest of these runs if that is known of all of them."""
    known = [(cost, place) for place in places if (cost := costs[place]) is not None]
    if len(known) < len(places):
        return best
    low, place = min(known)
    own = costs[best]
    return place if own is not None and low <= _CHEAPER * own else best


def _probability(ranking: Ranking, choice: Choice) -> float | None:
    """That it is within the margin of the best; unknown after a race, which stops by results."""
    compared, margin = ranking.ranked, ranking.margin_value
    if compared is None or margin is None or not choice.recommends or ranking.race is not None:
        return None
    return probability_within(compared, choice.place, margin)


def _at_most_worse(ranking: Ranking, choice: Choice, shown: Sequence[Standing]) -> float | None:
    """How far the best run may be behind another, by the leaderboard; None: another one is recommended."""
    if not choice.recommends or choice.place != ranking.order[0]:
        return None
    is_cost = ranking.ranked is not None and ranking.ranked.measure.higher_is_better is False
    gaps = [one.behind for one in shown if one.behind is not None]
    # Lower limits of its lead.
    lows = [lead.interval.low for lead in ranking.leads]
    lows += [gap.low if is_cost else gap.high and -gap.high for gap in gaps]
    known = [low for low in lows if low is not None]
    return -min(known) if known and len(known) == len(lows) and min(known) < 0 else None


def _much_cheaper(ranking: Ranking, choice: Choice) -> Cheaper | None:
    """The cheapest run that is not significantly worse, if it is much cheaper than the recommended one."""
    unit, costs = ranking.costs
    own = costs[choice.place]
    if not own or ranking.race is not None or choice.outcome in {Outcome.CHEAPER, Outcome.EQUALLY_GOOD}:
        return None
    tied = [lead.place for lead in ranking.open_leads if lead.place != choice.place]
    known = [(cost, place) for place in tied if (cost := costs[place])]
    if not known or not choice.recommends or own < MUCH_CHEAPER * min(known)[0]:
        return None
    cost, place = min(known)
    return Cheaper(ranking.entrants[place].label, unit, own / cost)


def _more_queries(ranking: Ranking, choice: Choice) -> MoreQueries | None:
    """How many more queries would distinguish the leading runs if they differ by the margin, and their cost."""
    compared, margin = ranking.ranked, ranking.margin_value
    unsettled = {Outcome.LEADING, Outcome.TOO_FEW, Outcome.MODEL_CANNOT_ANSWER}
    if compared is None or margin is None or choice.outcome not in unsettled or ranking.race is not None:
        return None
    if is_ceiling(ranking, 1):
        return None
    best, leads = ranking.order[0], ranking.open_leads
    needed = [_needed(compared, best, lead, max(margin, lead.difference)) for lead in leads]
    known = [n for n in needed if n is not None]
    if not known or len(known) < len(needed) or max(known) <= compared.n_common:
        return None
    more = rounded_up(max(known) - compared.n_common)
    if more >= MOST_QUERIES:
        return None
    views = [ranking.entrants[place] for place in (best, *(lead.place for lead in leads))]
    seconds, dollars = ([view.value(cost) for view in views] for cost in ("latency_s", "usd"))
    there, data = sum(compared.drawn.type_mix.values()), views[0].manifest.config.get("dataset")
    return MoreQueries(
        queries=more,
        minutes=None if None in seconds else more * sum(one or 0.0 for one in seconds) / 60,
        usd=None if None in dollars else more * sum(one or 0.0 for one in dollars),
        available=max(0, there - len(compared.drawn.types)) if there else None,
        are_own=isinstance(data, Mapping) and (bool(data.get("path")) or data.get("name") == OWN_DOCUMENTS),
    )


def _needed(compared: MeasureComparison, best: int, lead: Lead, difference: float) -> int | None:
    pair = compared.pair_of(best, lead.place)
    if pair is None:
        return None
    if pair.spread is not None:
        return pair.spread.needed(difference, 1)
    discordant = most_discordant(pair.higher + pair.lower, pair.n)
    return queries_needed(difference, 1, discordant) if compared.measure.is_share else None


def _caveats(ranking: Ranking, verdict: Verdict) -> Iterator[str]:
    group, compared = ranking.group, ranking.ranked
    yield from _weaknesses(group)
    if compared is not None:
        for standing in verdict.standings:
            if standing.n_missing:
                yield (
                    f"{shortened(standing.system)} has no value for {standing.n_missing:,} of "
                    f"{counted(standing.n, 'query', 'queries')}. They count as the worst here; with the best "
                    "values the order may differ."
                )
        if verdict.n_questions < verdict.n_queries:
            yield f"Only {verdict.n_questions:,} of the {verdict.n_queries:,} queries differ in their text."
        if here := verdict.systems("worse here"):
            names = ", ".join(map(shortened, here))
            yield f"The lead over {names} holds on these documents and may not on new ones."
        if ranking.measure in COSTS or compared.measure.higher_is_better is False:
            yield f"{ranking.display_name} alone ranks here: a system that hardly answers can win."
        if ranking.anytime_p is not None and ranking.anytime_p > ALPHA:
            yield "These systems were compared before on fewer queries: after repeated looks a lead may be chance."
    yield from _shared_wording(verdict)
    for standing in verdict.standings:
        if standing.status == "not ranked" and standing.why != UNFINISHED:
            yield f"{shortened(standing.system)} is not ranked: {standing.why}."
    yield from _other_notes(group)


def _shared_wording(verdict: Verdict) -> Iterator[str]:
    constant = next((one.score for one in verdict.standings if not one.run_id and one.score), None)
    if constant and not verdict.is_share and constant.value > _MOSTLY_WORDING:
        yield (
            f"The best constant answer has {verdict.metric_title} {short_number(constant.value)}: answers to "
            "these questions share most of their words, so read some of them."
        )


def _other_notes(group: Group) -> list[str]:
    """The notes of the group, without those that repeat `_weaknesses`."""
    return [note for note in group.note_lines if not is_serious(note)]


def _without_gold(views: Sequence[RunView]) -> str:
    """Why no score shows which system is right: what the data set lacks."""
    rows = [row for sample in {id(view.sample): view.sample for view in views}.values() for row in sample.values()]
    has_answers = any(stated_answers(row.reference) for row in rows)
    has_evidence = any(row.reference.evidence for row in rows)
    if has_answers and not any(view.manifest.has_generator for view in views):
        return "the queries have no evidence and the runs no answers"
    if not has_answers and not has_evidence:
        return "the queries have neither answers nor evidence"
    return "no score says which is better"
