"""For what a difference holds: in which mix of query types, and on which documents."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from harness.display.text_format import counted
from harness.report.comparison.quantities import ON
from harness.report.words.contest import Contest
from harness.report.words.wording import Gap, amount, bare, level, name, odds
from harness.statistics.intervals import UNKNOWN
from harness.statistics.paired_comparison import ComparedPair, MeasureComparison, Population


def holds_on(compared: MeasureComparison, best: int, others: Collection[int] | None = None) -> Population:
    """Where it holds that one run is ahead of all others, or of these: on new documents too only if that holds of
    each.
    """
    pairs = [pair for pair in compared.pairs if best in (pair.a, pair.b)]
    found = {
        pair.population for pair in pairs if others is None or (pair.a if pair.b == best else pair.b) in others
    }
    kinds: tuple[Population, ...] = ("documents", "new documents")
    return next((one for one in kinds if one in found), "queries")


def scope_sentences(contest: Contest, compared: MeasureComparison) -> Iterator[str]:
    """The mix, with the other one beside it, and what the test by document says of the best against the next, and
    against the next of which it says something else.
    """
    yield from _mix(contest, compared)
    best, *others = contest.order
    gaps = ((Gap.between(compared, best, place), place) for place in others)
    seen = set()
    for gap, place in gaps:
        if gap is not None and gap.is_told_apart and gap.pair.population not in seen:
            seen.add(gap.pair.population)
            names = [name(contest.view(one).label) for one in (best, place)]
            yield from _documents(gap, f"That {names[0]} is ahead of {names[1]} holds")


def _mix(contest: Contest, compared: MeasureComparison) -> Iterator[str]:
    if compared.mix != "natural":
        if len(compared.drawn.type_mix) > 1:
            yield (
                "Each sampled query counts the same: nothing is said of the data set's natural mix of query types,"
                " of which some have no query with a value."
            )
        return
    beside = compared.balanced_means
    if beside is None:
        yield "All of this is in the data set's natural mix of query types."
        return
    best, *others = contest.order
    shown = [
        f"{name(contest.view(place).label)} {level(compared, beside[place])}" for place in (best, *others[:1])
    ]
    pair = next((one for one in compared.pairs if {one.a, one.b} == {best, *others[:1]}), None)
    verdict = _other_verdict(compared, pair)
    yield (
        "All of this is in the data set's natural mix of query types; balanced, each sampled query counting the "
        f"same: {', '.join(shown)}{verdict}."
    )


def _other_verdict(compared: MeasureComparison, pair: ComparedPair | None) -> str:
    """What the balanced test says where it says something else."""
    if pair is None or pair.balanced is None:
        return ""
    verdict, other = compared.verdict(pair), compared.verdict(pair.balanced)
    if verdict == other:
        return ", and the verdict is the same"
    if other == "tie":
        return f", not told apart ({odds(pair.balanced.p_holm)}): the verdict depends on the mix"
    return f", and told apart that way ({odds(pair.balanced.p_holm)}): the verdict depends on the mix"


def _wider(gap: Gap) -> str:
    """The interval of the difference there, the best one's lead first."""
    low, high = gap.pair.interval_clusters or UNKNOWN
    if low is None or high is None:
        return ""
    ends = sorted((low, high) if gap.difference == gap.pair.difference else (-low, -high))
    return f", with an interval of {bare(gap.measure, ends[0])} to {amount(gap.measure, ends[1])}"


def _documents(gap: Gap, holds: str) -> Iterator[str]:
    pair = gap.pair
    if pair.p_clusters is None or pair.n_clusters is None:
        return
    groups = f"{counted(pair.n_clusters, 'group')} of queries that cite the same document most"
    said = f"with the {groups} flipped together {odds(pair.p_clusters)}"
    if pair.population == "new documents":
        yield f"{holds} {ON[pair.population]}: {said} after Holm's correction{_wider(gap)}."
    else:
        yield f"{holds} {ON['documents']} and need not on others: {said} after Holm's correction."
