"""Does a race keep its error rate, and what does it save? Simulated systems with known means, or recorded runs.

Without RUN the truth is simulated and the real code decides: systems with known means answer one query after
another, and `harness.statistics.race_test` tests after each. Two equal systems differ on a quarter of the queries;
graded values lie between 0 and 0.95, most near either end, in hundredths. `in the natural mix`: the same number
of queries of each type of MultiHop-RAG, in the order and with the weights of the harness; the last system is
better at some types and worse at others, so that the unweighted mean over all queries is not that of the mix.

With RUN, finished, scored run directories over the same queries are the entrants of one race, repeated over their
recorded values in orders that the harness draws. `as recorded`: the truth is the result over all queries. `answers
swapped`: within each query the answers are randomly reassigned to the systems, so that all are equal, and any
system called worse is an error. The fixed n is for the smallest difference from the best.

Examples:
  .venv/bin/python scripts/research/check_race.py > table.md
  .venv/bin/python scripts/research/check_race.py --replicates 1000 --cap 2000 --only "natural mix"
  .venv/bin/python scripts/research/check_race.py results/multihop_rag--naive--* --measure AllHit@10
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from common import command_line, print_table, started
from simulated import MIX, Array, Rng

from harness.core.errors import ConfigError
from harness.core.records import Reference
from harness.datasets.sampling import query_order
from harness.protocols import Measure
from harness.report.view import Group, load_groups
from harness.statistics.confidence_intervals import span_between
from harness.statistics.power import spread_of
from harness.statistics.prices import load_prices
from harness.statistics.race_test import Race, RaceRules
from harness.statistics.sampling_design import SamplingDesign
from harness.store import RunDir

RULES = RaceRules(margin=5.0, alpha=0.05)
_SHARED = 0.5**0.5
"""The probability that a system shares the random value of a query: two equal ones differ on a quarter of them."""
_BY_TYPE = {"comparison": 0.2, "inference": -0.2}
"""The lead of the last system on queries of a type; on the other types so that the lead in the mix is 0."""

_TINY = 1e-9
HEADER = ("wrong", "decided", "worse left", "n, mean", "n, 80 %", "fixed n", "answers", "cases")
MEANING = """`wrong`: the race stated anything untrue (that a system is worse than one that is no better, that
two are within the margin that are not, an interval that does not contain the truth), promised for at most alpha
= .05 of the races. `decided`: the race was decided before the queries were exhausted. `worse left`: the share
of systems worse than the best that were eliminated. `n, mean`: queries until the decision, or all if undecided;
`n, 80 %`: the number by which four of five were decided. `fixed n` finds the difference four times of five with
a single test, after Holm over all pairs. `answers`: all answers of all systems, as a share of those for the
fixed n, or for all queries if the fixed n is larger."""


def main() -> None:
    parser = command_line(__doc__)
    parser.epilog = MEANING
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN", help="run directories (default: simulated)")
    parser.add_argument("--replicates", type=int, default=200, help="races per row (default 200)")
    parser.add_argument("--cap", type=int, default=600, help="maximum simulated queries (default 600)")
    parser.add_argument("--only", default="", help="only simulated rows whose first two cells contain this text")
    parser.add_argument("--measure", nargs="+", help="measures of the runs (default: the primary metric)")
    parser.add_argument("--margin", type=float, default=5.0, help="points, for runs (default 5)")
    chosen = parser.parse_args()
    if not chosen.runs:
        kinds = [kind for kind in KINDS if chosen.only in f"{kind.values} {kind.title}"]
        print_table(("values", "systems", *HEADER), simulated_rows(kinds, chosen.replicates, chosen.cap))
        return
    group, *others = load_groups([RunDir(path) for path in chosen.runs], load_prices())
    if others or len(group.views) < 2:
        raise ConfigError(
            "these runs are not two or more over the same queries", "name runs of one report's chapter"
        )
    found = (
        one
        for name in chosen.measure or [group.ranking.name]
        for one in recorded_rows(recorded(group, name, chosen.margin), chosen.replicates)
    )
    print_table(("measure", "systems, points", "queries", "answers", *HEADER), found)


# The races of both


@dataclass(frozen=True)
class Run:
    """The values of some systems, a column for each."""

    values: Array
    ids: Sequence[str]
    """Ids of the queries, in order."""
    weights: Array
    """The weight of each query."""
    truth: Sequence[float]
    """The systems' true means, in points; more is better."""


@dataclass(frozen=True)
class Raced:
    """The result of one race."""

    n: int
    answers: int
    is_wrong: bool
    is_decided: bool
    worse_left: float | None
    """Share of the systems worse than the best that were eliminated; None: no system is worse."""


def raced(run: Run, rules: RaceRules) -> Raced:
    """Add one query after the other until the race is decided or no query is left."""
    names = [str(place) for place in range(run.values.shape[1])]
    race = Race(names, rules, dict(zip(run.ids, run.weights.tolist(), strict=True)))
    answers = 0
    for query_id, own in zip(run.ids, run.values.tolist(), strict=True):
        answers += len(race.active)
        race.take(query_id, dict(zip(names, own, strict=True)))
        if race.is_decided:
            break
    truth = dict(zip(names, run.truth, strict=True))
    worse = {name for name in names if truth[name] < max(run.truth) - _TINY}
    left = len(worse & {drop.name for drop in race.dropped}) / len(worse) if worse else None
    return Raced(race.n_queries, answers, _is_wrong(race, truth, rules.margin), race.is_decided, left)


def fixed_n(differences: Array, points: float, n_systems: int, *, binary: bool) -> int | None:
    """Queries with which a single test over all pairs finds a difference of so many points four times out of five,
    if queries differ as these do; None: no number is enough.
    """
    spread = spread_of(differences, binary=binary)
    pairs = n_systems * (n_systems - 1) // 2
    if not points or spread is None:
        return None
    return spread.needed(abs(points) / 100, pairs)


def row(found: Sequence[Raced], n_systems: int, cap: int, fixed: int | None) -> tuple[str, ...]:
    """A table row for the races of one kind, with the columns of HEADER."""
    ns = sorted(one.n for one in found)
    enough = ns[int(0.8 * len(ns))]
    left = [one.worse_left for one in found if one.worse_left is not None]
    answers = np.mean([one.answers for one in found]) / (n_systems * min(fixed or cap, cap))
    wrong, decided = (np.mean([getattr(one, name) for one in found]) for name in ("is_wrong", "is_decided"))
    said = f"{wrong:.3f}", f"{decided:.2f}", f"{np.mean(left):.2f}" if left else "-", f"{np.mean(ns):,.0f}"
    numbers = f"{enough:,}" if enough < cap else "-", f"{fixed:,}" if fixed else "-"
    return *said, *numbers, f"{100 * answers:.0f} %", f"{len(found):,}"


def _is_wrong(race: Race, truth: dict[str, float], margin: float) -> bool:
    for drop in race.dropped:
        ahead = truth[drop.against] - truth[drop.name]
        if ahead <= _TINY or not _holds(ahead, (drop.low, drop.high)):
            return True
    for one, other in combinations(race.active, 2):
        ahead = truth[one] - truth[other]
        if race.is_decided and abs(ahead) >= margin - _TINY:
            return True
        if not _holds(ahead, race.interval(one, other)):
            return True
    return False


def _holds(value: float, limits: tuple[float, float]) -> bool:
    return limits[0] - _TINY <= value <= limits[1] + _TINY


# Simulated systems


@dataclass(frozen=True)
class Kind:
    """The systems of a race."""

    values: str
    n_systems: int
    points: int
    """How much better the last system is than all others."""

    @property
    def title(self) -> str:
        """`4, one worse by 5`."""
        if not self.points:
            return f"{self.n_systems}, all equal"
        return f"{self.n_systems}, one {'better' if self.points > 0 else 'worse'} by {abs(self.points)}"


_OF_TWO, _OF_FOUR = (0, 5, 15, 25), (0, 15, -5)
KINDS = [
    *(Kind(values, 2, points) for values in ("shares", "graded") for points in _OF_TWO),
    *(Kind(values, 4, points) for values in ("shares", "graded") for points in _OF_FOUR),
    *(Kind("shares in the natural mix", n, points) for n, some in ((2, (0,)), (4, _OF_FOUR)) for points in some),
    *(Kind("graded in the natural mix", 4, points) for points in _OF_FOUR),
]


def simulated_rows(kinds: Sequence[Kind], replicates: int, cap: int) -> Iterator[Sequence[str]]:
    for kind in kinds:
        # A separate seed for each row, the same in every call, whatever --only selects.
        seed = [kind.n_systems, kind.points % 100, *kind.values.encode()]
        draws = (drawn(np.random.default_rng([*seed, place]), kind, cap, place) for place in range(replicates))
        found = [raced(one, RULES) for one in draws]
        yield kind.values, kind.title, *row(found, kind.n_systems, cap, _fixed_of_kind(kind))


def drawn(rng: Rng, kind: Kind, n: int, seed: int) -> Run:
    """The values of the systems of one race on `n` queries."""
    ahead = np.zeros((n, kind.n_systems))
    ahead[:, -1] = kind.points / 100
    ids, weights = [str(place) for place in range(n)], np.ones(n)
    if "mix" in kind.values:
        ids, types, weights = _in_the_mix(n, seed)
        ahead[:, -1] += types
    luck = np.where(rng.random((n, kind.n_systems)) < _SHARED, rng.random((n, 1)), rng.random((n, kind.n_systems)))
    truth = [*[0.0] * (kind.n_systems - 1), float(kind.points)]
    if kind.values.startswith("graded"):
        # Round the random part, not the lead, which is not always a multiple of the step.
        values = 0.7 * np.round(np.sin(np.pi / 2 * luck) ** 2, 2) + ahead
        return Run(values, ids, weights, truth)
    return Run((luck < 0.5 + ahead).astype(np.float64), ids, weights, truth)


def _in_the_mix(n: int, seed: int) -> tuple[list[str], Array, Array]:
    """Ids in order, the lead of the last system on each, and the weight of each."""
    of = {f"q{place:04d}": list(MIX)[place % len(MIX)] for place in range(n)}
    ids = query_order([Reference(query_id=one, query_type=of[one], answers=("a",)) for one in of], seed)
    share = {name: count / sum(MIX.values()) for name, count in MIX.items()}
    others = -sum(_BY_TYPE[name] * share[name] for name in _BY_TYPE) / (1 - sum(share[name] for name in _BY_TYPE))
    weights = SamplingDesign(of, MIX).weights(ids, ids, ids)
    assert weights is not None  # noqa: S101 - every type of the mix is there
    return ids, np.array([_BY_TYPE.get(of[one], others) for one in ids]), weights


def _fixed_of_kind(kind: Kind) -> int | None:
    """Queries with which a single unweighted test finds the difference."""
    alike = Kind(kind.values.split()[0], 2, kind.points)
    values = drawn(np.random.default_rng(0), alike, 100_000, 0).values
    return fixed_n(
        values[:, 1] - values[:, 0], kind.points, kind.n_systems, binary=kind.values.startswith("shares")
    )


# Recorded runs


@dataclass(frozen=True)
class RecordedResults:
    """The values of runs by one measure, on the queries for which all have a value."""

    measure: Measure
    rules: RaceRules
    references: Sequence[Reference]
    values: Array
    """A row per reference, a column per run."""
    weights: Array

    @property
    def sign(self) -> float:
        """Points of a difference of 1; more is better."""
        return (100 if self.rules.higher_is_better else -100) / self.rules.span


def recorded(group: Group, name: str, margin: float) -> RecordedResults:
    """One measure of the runs of a group."""
    measure = group.known.get(name)
    if measure is None or not all(name in view.values for view in group.views):
        raise ConfigError(f"not all of these runs have '{name}'", f"they have {', '.join(group.measures)}")
    span = span_between(measure.ends) if measure.ends else None
    if span is None:
        raise ConfigError(f"the range of '{name}' is unknown", "name another measure")
    sample = group.views[0].sample
    asked = [one for one in sample if all(one in view.values[name] for view in group.views)]
    weights = group.views[0].frame.drawn.weights(asked, [*sample], asked)
    return RecordedResults(
        measure,
        RaceRules(margin, 0.05, span, measure.higher_is_better, measure.ends[0] if measure.ends else 0.0),
        [sample[one].reference for one in asked],
        np.array([[view.values[name][one] for view in group.views] for one in asked]),
        np.ones(len(asked)) if weights is None else weights,
    )


def recorded_rows(of: RecordedResults, replays: int) -> Iterator[Sequence[str]]:
    n, n_systems = of.values.shape
    means = of.sign * np.average(of.values, axis=0, weights=of.weights)
    points = ", ".join(f"{one:.1f}" for one in sorted(of.sign / abs(of.sign) * means, reverse=True))
    for is_swapped in (False, True):
        truth = [0.0] * n_systems if is_swapped else means.tolist()
        found = [_raced(of, truth, seed, is_swapped=is_swapped) for seed in range(replays)]
        fixed = None if is_swapped else _fixed(of, means)
        answers = "answers swapped" if is_swapped else "as recorded"
        yield of.measure.name, f"{n_systems}: {points}", f"{n:,}", answers, *row(found, n_systems, n, fixed)


def _raced(of: RecordedResults, truth: Sequence[float], seed: int, *, is_swapped: bool) -> Raced:
    places = {one.query_id: place for place, one in enumerate(of.references)}
    ids = query_order(of.references, seed)
    taken = [places[one] for one in ids]
    values = of.values[taken]
    if is_swapped:
        values = np.random.default_rng(seed).permuted(values, axis=1)
    return raced(Run(values, ids, of.weights[taken], truth), of.rules)


def _fixed(of: RecordedResults, means: Array) -> int | None:
    """Queries with which a single test separates the best from every other."""
    best, needed = int(np.argmax(means)), []
    for other in set(range(len(means))) - {best}:
        apart, points = of.values[:, best] - of.values[:, other], float(means[best] - means[other]) * of.rules.span
        needed.append(fixed_n(apart, points, len(means), binary=of.measure.binary))
    known = [one for one in needed if one is not None]
    return max(known) if len(known) == len(needed) else None


if __name__ == "__main__":
    started(main)
