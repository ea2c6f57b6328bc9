"""The statistics section: the basis of the tests in words, a matrix by the measure that ranks, and all pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from harness.display import Quantity, Table, counted, printable, short_number
from harness.display.types import NumberForm
from harness.report.comparison import tables
from harness.report.labels import shortened
from harness.report.verdict.findings import Findings
from harness.report.verdict.races_and_looks import anytime_p_of, earlier_looks, race_lines
from harness.report.verdict.ranking import Ranking
from harness.report.view import Group
from harness.statistics.paired_comparison import MeasureComparison

_TESTS = {"mcnemar": "McNemar's exact test", "flips": "sign-flip permutation test"}
_HOLDS = {
    (True, True): "yes",
    (False, True): "on these documents only",
    (False, False): "no",
}


def statistics_tables(findings: Findings) -> list[Table]:
    """The best run against each other one, all differences by the metric that ranks, and every pair by each
    measure; without those of which nothing was compared.
    """
    found = [_leads_table(findings.ranking)] if findings.ranking else []
    comparison = findings.comparison
    if comparison is not None:
        names = [printable(one.label) for one in comparison.runs]
        if findings.ranked is not None:
            found.append(tables.matrix_table(names, findings.compared_order, findings.ranked))
        for compared in comparison.measures:
            if compared.pairs:
                # By the other measures nothing was decided, and each is a family of its own.
                is_first = compared.measure.name == findings.measure
                table = tables.pair_table(names, compared)
                besides = " (the metric that ranks)" if is_first else tables.BESIDES
                found.append(replace(table, title=f"{table.title}{besides}"))
    return [table for table in found if table]


def _leads_table(ranking: Ranking) -> Table | None:
    """Each comparison of the best run, tested alone; None if nothing was compared."""
    if ranking.ranked is None or not ranking.leads:
        return None
    unit: NumberForm = "points" if ranking.is_share else "two"
    rows = tuple(
        (
            printable(ranking.view(lead.place).label),
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
    best = printable(ranking.view(ranking.order[0]).label)
    return Table("leads", f"{best} against the others: {printable(ranking.display_name)}", header, rows, note=note)


def statistics_lines(group: Group, findings: Findings) -> list[str]:
    """Metric, mix of query types, power, baselines, earlier looks and races; empty where nothing was compared."""
    ranking = findings.ranking
    if ranking is None or ranking.ranked is None or not ranking.ranked.pairs:
        return []
    compared = ranking.ranked
    queries = counted(compared.n_common, "query", "queries")
    metric = f"Ranked by {ranking.display_name}{ranking.reason}. {_TESTS[compared.test]}, paired over {queries}."
    lines, race = [metric, *_headroom(findings)], ranking.race
    if race is not None:
        return [*lines, *race_lines(group, race)]
    return [*lines, *_mix(ranking, compared), *_power(ranking, compared), *_looks(ranking)]


def _headroom(findings: Findings) -> Iterator[str]:
    found = findings.baselines
    if found.headroom is None or found.lower is None or found.upper is None:
        return
    shown = "significant" if found.headroom.is_shown_here else "not significant, so answers cannot rank systems"
    yield (
        f"Upper baseline {shortened(found.upper.label)} less lower baseline {shortened(found.lower.label)}: "
        f"{short_number(found.headroom.difference)} ({shown})."
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
        f"{shortened(ranking.view(at).label)} {short_number(beside[at] or 0.0)}" for at in ranking.order
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


def _power(ranking: Ranking, compared: MeasureComparison) -> Iterator[str]:
    best = ranking.order[0]
    found = [pair.detectable for pair in compared.pairs if best in (pair.a, pair.b)]
    known = [one for one in found if one is not None]
    if known and len(known) == len(found):
        largest = max(known)
        shown = f"{short_number(100 * largest)} points" if ranking.is_share else short_number(largest)
        queries = counted(compared.n_common, "query", "queries")
        yield f"{queries} find a true difference of {shown} four times out of five; a smaller one may be missed."


def _looks(ranking: Ranking) -> Iterator[str]:
    p = anytime_p_of(ranking)
    if p is not None:
        sizes = ", ".join(f"{size:,}" for size in sorted(earlier_looks(ranking)))
        shown = "< 0.001" if p < 0.001 else f"= {p:.3f}"
        yield (
            f"These systems were compared before on {sizes} of these queries. A test that allows any number of "
            f"looks gives p {shown} for the best against the next."
        )
