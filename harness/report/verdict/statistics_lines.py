"""The basis of the tests: metric, mix of query types, power, baselines, earlier looks and races."""

from __future__ import annotations

from collections.abc import Iterator

from harness.display.text_format import counted, short_number
from harness.report.labels import shortened
from harness.report.verdict.findings import Findings
from harness.report.verdict.races import race_lines, race_of
from harness.report.verdict.ranking import Ranking
from harness.report.verdict.repeated_looks import anytime_p_of, earlier_looks
from harness.report.view import Group
from harness.statistics.paired_comparison import MeasureComparison

_TESTS = {"mcnemar": "McNemar's exact test", "flips": "sign-flip permutation test"}


def statistics_lines(group: Group, findings: Findings) -> list[str]:
    """One sentence or two for each thing; empty where nothing was compared."""
    ranking = findings.ranking
    if ranking is None or ranking.ranked is None or not ranking.ranked.pairs:
        return []
    race = race_of(ranking)
    lines = [_metric(ranking, ranking.ranked), *_headroom(findings)]
    if race is not None:
        return [*lines, *race_lines(group, race)]
    return [*lines, *_mix(ranking, ranking.ranked), *_power(ranking, ranking.ranked), *_looks(ranking)]


def _metric(ranking: Ranking, compared: MeasureComparison) -> str:
    queries = counted(compared.n_common, "query", "queries")
    return f"Ranked by {ranking.spoken}{ranking.reason}. {_TESTS[compared.test]}, paired over {queries}."


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
