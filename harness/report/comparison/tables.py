"""The tables of a comparison: the ranking by a metric, its pairs, and a matrix of them; and the statistics of a
report: the same tables, and the basis of the tests in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from harness.core.records import RaceRecord
from harness.display import Entry, Quantity, Table, ValueGroup, counted, file_name, printable, short_number
from harness.display.types import NumberForm
from harness.report.comparison.compare import Comparison
from harness.report.labels import shortened
from harness.report.quantities import count, quantity_of
from harness.report.verdict.findings import Findings
from harness.report.verdict.ranking import Ranking
from harness.report.view import Group
from harness.statistics.paired_comparison import ComparedPair, MeasureComparison
from harness.statistics.recommendation import ranked_places

WhichAsGood = Literal["a", "b", "both", "neither"]
TESTS = {"mcnemar": "McNemar's exact test", "flips": "sign-flip permutation test"}
SIGNS = {"a": ">", "b": "<", "tie": "~", "differ": "≠"}
RESULTS = {"a": "A is better", "b": "B is better", "tie": "tie", "differ": "they differ"}
ON = {"documents": "on these documents", "new documents": "also on new documents", "queries": ""}
LEFT_TO_FILES = frozenset({"A", "B", "balanced", "A / B", "p", "p by document", "result"})
"""Columns that a terminal does without: the sign behind a difference tells the result."""
BESIDES = " (not the metric that ranks)"
_AS_GOOD = {"a": "A", "b": "B", "both": "both", "neither": "neither", None: None}
_Column = tuple[str, Callable[[ComparedPair], Entry]]
_HOLDS = {(True, True): "yes", (False, True): "on these documents only", (False, False): "no"}
_ENDS = {
    "queries": "no query was left",
    "budget": "the budget was exhausted",
    "broken": "a system could not answer any more",
}


def described(compared: MeasureComparison) -> str:
    """Direction, test, family, mix and n of a measure."""
    way = {True: "Higher is better", False: "Lower is better", None: "No direction known"}
    pairs = len(compared.pairs)
    family = f"Holm over {pairs:,} pairs" if pairs > 1 else "one pair"
    mix = "; types as they are mixed in the data set" if compared.weights is not None else ""
    return f"{way[compared.measure.higher_is_better]}; {TESTS[compared.test]}; {family}{mix}."


def mean(compared: MeasureComparison, value: float | None) -> Quantity | None:
    return None if value is None else Quantity(value, unit=_unit(compared))


def difference(compared: MeasureComparison, pair: ComparedPair) -> Quantity:
    """`+0.060 [-0.005, +0.125] ~`."""
    mark = SIGNS[compared.verdict(pair)]
    return Quantity(pair.difference, *pair.interval, unit=_unit(compared), signed=True, mark=mark)


def which_as_good(compared: MeasureComparison, pair: ComparedPair, margin: float) -> WhichAsGood | None:
    """Which is shown to be worse by less than `margin` points; None without direction, range or interval."""
    way, span = compared.measure.higher_is_better, compared.measure.span
    low, high = pair.interval
    if way is None or span is None or low is None or high is None:
        return None
    limit = margin / 100 * span
    a, b = (low > -limit, high < limit) if way else (high < limit, low > -limit)
    return "both" if a and b else "a" if a else "b" if b else "neither"


def _unit(compared: MeasureComparison) -> NumberForm:
    """Three decimals for values within -1 and 1; three significant digits for others and for costs."""
    small = all(one is None or abs(one) <= 1 for one in compared.means)
    return "share" if small and not compared.measure.is_cost else ""


def comparison_tables(comparison: Comparison) -> Iterator[Table]:
    """The ranking and the pairs by each metric, then the pairs with a baseline."""
    names = [one.label for one in comparison.runs]
    for n, compared in enumerate(comparison.measures):
        besides = BESIDES if n or compared.measure.higher_is_better is None else ""
        for table in (ranking_table(names, compared), pair_table(names, compared, comparison.margin)):
            yield replace(table, title=f"{table.title}{besides}")
    for compared in comparison.apart:
        table = pair_table(names, compared)
        yield replace(table, name=f"apart-{table.name}", title=f"{table.title} (with a baseline)")


def rank(best: int, worst: int) -> Entry:
    """The possible ranks of a run, from 1: `2`, or `1-3`."""
    return count(best) if best == worst else ValueGroup((count(best), count(worst)), "-")


def ranking_table(names: Sequence[str], compared: MeasureComparison) -> Table:
    """The best mean first if the metric has a direction."""
    has_direction = compared.measure.higher_is_better is not None
    places = dict.fromkeys([*(ranked_places(compared) if has_direction else ()), *range(len(names))])
    ranks = compared.ranks or (None,) * len(names)
    rows = tuple(
        (names[at], rank(*own) if (own := ranks[at]) else None, mean(compared, compared.means[at]))
        for at in places
    )
    title = f"{printable(compared.measure.name)}: ranks"
    note = f"Means over {counted(compared.n_common, 'query', 'queries')} with a value in every run."
    return Table(_name("ranks", compared), title, ("system", "rank", "mean"), rows, note=note)


def pair_table(names: Sequence[str], compared: MeasureComparison, margin: float | None = None) -> Table:
    """Every pair of runs by one measure; with a margin in points, which of the two is as good as the other."""
    columns = list(_pair_columns(names, compared))
    note = (
        f"{described(compared)} CI: for these documents, at the level at which Holm's correction decided the "
        "pair, at least 95 %. "
        "Detectable: the true difference that so many queries would show four times out of five after Holm."
    )
    as_good = partial(which_as_good, compared, margin=margin or 0.0)
    if margin is not None and any(map(as_good, compared.pairs)):
        columns.append((f"within {margin:g} points", lambda pair: _AS_GOOD[as_good(pair)]))
        note += f" Within {margin:g} points: whose interval rules out more of a disadvantage."
    header = tuple(title for title, _ in columns)
    rows = tuple(tuple(of(pair) for _, of in columns) for pair in compared.pairs)
    title = f"Pairs: {printable(compared.measure.name)}"
    return Table(_name("pairs", compared), title, header, rows, note=note, details=LEFT_TO_FILES & {*header})


def _pair_columns(names: Sequence[str], compared: MeasureComparison) -> Iterator[_Column]:
    yield "A, B", lambda pair: f"{names[pair.a]}, {names[pair.b]}"
    yield "n", lambda pair: Quantity(pair.n, of=pair.n_expected, unit="count")
    yield "A", lambda pair: mean(compared, pair.mean_a)
    yield "B", lambda pair: mean(compared, pair.mean_b)
    yield "A - B [CI]", lambda pair: difference(compared, pair)
    if any(pair.balanced for pair in compared.pairs):
        yield "balanced", lambda pair: None if pair.balanced is None else difference(compared, pair.balanced)
    yield "A / B", lambda pair: quantity_of(pair.ratio)
    yield "better/equal/worse", lambda pair: ValueGroup(tuple(map(count, compared.outcomes(pair))), "/")
    yield "p", lambda pair: Quantity(pair.p, unit="p")
    yield "p (Holm)", lambda pair: Quantity(pair.p_holm, unit="p")
    if any(pair.p_clusters is not None for pair in compared.pairs):
        yield "p by document", lambda pair: Quantity(pair.p_clusters, unit="p")
    yield "detectable", lambda pair: mean(compared, pair.detectable)
    yield "result", lambda pair: _result(compared, pair)


def _result(compared: MeasureComparison, pair: ComparedPair) -> str:
    result, on = RESULTS[compared.verdict(pair)], ON[pair.population]
    return f"{result}, {on}" if on and pair.significant else result


def matrix_table(names: Sequence[str], order: Sequence[int], compared: MeasureComparison) -> Table:
    """Row less column, both in that order."""
    entries: dict[tuple[int, int], Entry] = {(place, place): "" for place in order}
    for one in compared.pairs:
        entries |= {(pair.a, pair.b): difference(compared, pair) for pair in (one, one.turned)}
    rows = tuple((names[a], *(entries.get((a, b)) for b in order)) for a in order)
    measure = printable(compared.measure.name)
    note = (
        f"Row minus column, {measure}, with its interval for these documents, corrected for the number of pairs "
        "(95 % or more); that of the leaderboard is of one pair alone and holds for new documents too. "
        f"{described(compared)} "
        "> the row is better, < the column is, ~ no more than chance (which is no proof of equality)."
    )
    header = ("system", *[names[place] for place in order])
    return Table("significance", f"Who differs from whom: {measure}", header, rows, note=note)


def _name(kind: str, compared: MeasureComparison) -> str:
    return f"{kind}-{file_name(printable(compared.measure.name))}"


def statistics_tables(findings: Findings) -> list[Table]:
    """The best run against each other one, a matrix by the metric that ranks, and every pair by each measure."""
    ranking = findings.ranking
    names, found = [printable(view.label) for view in ranking.entrants], [_leads_table(ranking)]
    if ranking.ranked is not None:
        found.append(matrix_table(names, ranking.order, ranking.ranked))
    for compared in ranking.comparisons:
        if compared.pairs:
            # By the other measures nothing was decided, and each is a family of its own.
            besides = " (the metric that ranks)" if compared.measure.name == ranking.measure else BESIDES
            table = pair_table(names, compared)
            found.append(replace(table, title=f"{table.title}{besides}"))
    return [table for table in found if table]


def _leads_table(ranking: Ranking) -> Table | None:
    """Each comparison of the best run, tested alone; None if nothing was compared."""
    if ranking.ranked is None or not ranking.leads:
        return None
    unit: NumberForm = "points" if ranking.is_share else "two"
    rows = tuple(
        (
            printable(ranking.entrants[lead.place].label),
            Quantity(lead.difference, *lead.interval, unit=unit, signed=True),
            _HOLDS[lead.is_shown, lead.is_shown_here],
            Quantity(lead.n_missing, unit="count"),
        )
        for lead in ranking.leads
    )
    note = (
        "Positive: the best run is better. Each comparison is made at 5 % alone, because a winner must beat every "
        "other run (intersection-union test). The interval spans what missing values may be."
    )
    header = ("against", "lead [95 %]", "better at 5 %, alone", "missing values")
    best = printable(ranking.entrants[ranking.order[0]].label)
    return Table("leads", f"{best} against the others: {printable(ranking.display_name)}", header, rows, note=note)


def statistics_lines(group: Group, findings: Findings) -> Iterator[str]:
    """Metric, baselines, mix of query types, power, earlier looks and races; none where nothing was compared."""
    ranking, compared, found = findings.ranking, findings.ranking.ranked, findings.baselines
    if compared is None or not compared.pairs:
        return
    queries = counted(compared.n_common, "query", "queries")
    yield f"Ranked by {ranking.display_name}{ranking.reason}. {TESTS[compared.test]}, paired over {queries}."
    if found.headroom is not None and found.lower is not None and found.upper is not None:
        shown = (
            "significant" if found.headroom.is_shown_here else "not significant, so answers cannot rank systems"
        )
        yield (
            f"Upper baseline {shortened(found.upper.label)} less lower baseline {shortened(found.lower.label)}: "
            f"{short_number(found.headroom.difference)} ({shown})."
        )
    if ranking.race is not None:
        yield from _race_lines(group, ranking.race)
        return
    yield from _mix(ranking, compared)
    detectable = [pair.detectable for pair in compared.pairs if ranking.order[0] in (pair.a, pair.b)]
    known = [one for one in detectable if one is not None]
    if known and len(known) == len(detectable):
        largest = f"{short_number(100 * max(known))} points" if ranking.is_share else short_number(max(known))
        what = f"a true difference of {largest} in {ranking.display_name}"
        yield f"Power: {queries} find {what} four times out of five; a smaller one may be missed."
    if (p := ranking.anytime_p) is not None:
        sizes = ", ".join(f"{size:,}" for size in sorted(ranking.earlier_looks))
        yield (
            f"These systems were compared before on {sizes} of these queries. A test that allows any number of "
            f"looks gives p {'< 0.001' if p < 0.001 else f'= {p:.3f}'} for the best against the next."
        )


def _mix(ranking: Ranking, compared: MeasureComparison) -> Iterator[str]:
    beside = compared.balanced_means
    if compared.mix != "natural":
        if len(compared.drawn.type_mix) > 1:
            yield "Each sampled query counts the same, because some query types have no query with a value."
        return
    if beside is None:
        yield "Query types count as in the whole data set."
        return
    shown = ", ".join(
        f"{shortened(ranking.entrants[place].label)} {short_number(beside[place] or 0.0)}"
        for place in ranking.order
    )
    yield f"Query types count as in the whole data set. With each query counted the same: {shown}."
    changed = [
        pair
        for pair in compared.pairs
        if pair.balanced is not None and compared.verdict(pair) != compared.verdict(pair.balanced)
    ]
    if changed:
        pairs = counted(len(changed), "pair")
        yield f"For {pairs} it depends on that mix whether the difference is significant."


def _race_lines(group: Group, race: RaceRecord) -> Iterator[str]:
    after = f"{race.n_queries:,} of {counted(race.n_drawn, 'query', 'queries')}"
    if race.ended == "decided":
        yield f"The race was decided after {after}."
    else:
        yield f"The race ended undecided after {after}: {_ENDS[race.ended]}."
    names = {view.manifest.run_id: view.label for view in group.views}
    for drop in race.dropped:
        one, other = (shortened(names.get(run_id, run_id)) for run_id in (drop.run_id, drop.against))
        yield (
            f"{one} was eliminated after {counted(drop.after, 'query', 'queries')}: {drop.low:.1f} to "
            f"{drop.high:.1f} points worse than {other}."
        )
    for gap in race.gaps:
        one, other = (shortened(names.get(run_id, run_id)) for run_id in (gap.a, gap.b))
        within = -race.margin < gap.low and gap.high < race.margin
        verdict = "as good" if within else "inconclusive"
        yield f"{one} is {gap.low:.1f} to {gap.high:.1f} points ahead of {other}: {verdict}."
    yield (
        f"These statements hold with {100 * (1 - race.alpha):.4g} % confidence, over all pairs and all looks. A "
        "race stops because of its results, so that no other test, interval or rank of these runs is valid."
    )
