"""Do the statistics of the harness keep their promises? The truth is simulated, the real code is tested.

Runs with known means are generated and given to the code that makes reports: intervals of means and of
differences, the comparison of all pairs, the verdict of a report, queries needed, "as good as", the best of
many, repeated testing. Each row is one promise: the nominal share and the measured one, with its own 95 %
interval (Wilson's). docs/statistics-tables.md has the tables, with the command of each.

Not tested: how your data are distributed. Values here are right or wrong, graded or lognormal; in some rows many
queries cite the same articles, on each of which every system is better or worse at random.

Examples:
  .venv/bin/python scripts/research/check_statistics.py --replicates 1000 > table.md
  .venv/bin/python scripts/research/check_statistics.py --only power selection --replicates 200
  .venv/bin/python scripts/research/check_statistics.py --keep cases.jsonl --replicates 200; then again with 1000
  .venv/bin/python scripts/research/check_statistics.py --quick
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from common import command_line, print_table, started
from reported import verdicts
from simulated import (
    MIX,
    RIGHT,
    WORLDS,
    Array,
    Check,
    Rng,
    Row,
    World,
    compared,
    hidden,
    natural,
    systems,
    with_luck,
)

from harness.statistics.confidence_intervals import (
    Interval,
    Stratum,
    mean_interval,
    quantile_interval,
    weighted_mean_interval,
)
from harness.statistics.correlation import QueryScores, auc, correlate
from harness.statistics.difference_tests import ALPHA, mcnemar_p
from harness.statistics.non_inferior import MARGIN, cheapest_as_good
from harness.statistics.paired_comparison import ComparedPair, MeasureComparison
from harness.statistics.power import DISCORDANCE, STEPS, graded_power, queries_needed, share_power, spread_of
from harness.statistics.race_test import anytime_p
from harness.statistics.recommendation import best_of

HEADER = ("what", "n", "nominal", "measured", "95 % interval", "cases")
SIZES = (8, 30, 200, 2_000)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--replicates", type=int, default=1_000, help="cases per row (default 1,000)")
    parser.add_argument("--only", nargs="+", choices=CHECKS, default=list(CHECKS), help="parts of the table")
    parser.add_argument(
        "--sizes", nargs="+", type=int, default=SIZES, help="queries (default 8, 30, 200 and 2,000)"
    )
    parser.add_argument("--quick", action="store_true", help="a few cases of the small sizes, as a smoke test")
    parser.add_argument("--keep", type=Path, help="save cases in this file, and resume from it")
    chosen = parser.parse_args()
    n_cases, sizes = (4, SIZES[:2]) if chosen.quick else (chosen.replicates, chosen.sizes)
    check = Check(n_cases, sizes, chosen.keep)
    print_table(HEADER, (row for name in chosen.only for row in CHECKS[name](check)))


# Intervals


def holds(interval: Interval | None, true: float) -> bool | None:
    if interval is None or interval.low is None or interval.high is None:
        return None
    return interval.low - 1e-12 <= true <= interval.high + 1e-12


def means(check: Check) -> Iterator[Row]:
    shapes: dict[str, tuple[Callable[[Rng, int], list[float]], float]] = {
        "graded, even": (lambda rng, n: rng.choice([0, 0.25, 0.5, 0.75, 1], n).tolist(), 0.5),
        "graded, 80 % are 0": (lambda rng, n: (rng.random(n) * (rng.random(n) < 0.2)).tolist(), 0.1),
        "graded, 90 % are 1": (lambda rng, n: rng.choice([1, 0.5, 0], n, p=[0.9, 0.07, 0.03]).tolist(), 0.935),
        "times, lognormal": (lambda rng, n: rng.lognormal(size=n).tolist(), float(np.exp(0.5))),
    }
    for n in check.sizes:
        for right in (0.5, 0.9, 0.97):
            what = f"interval of a share, {right:.0%} right"
            yield check.share(
                what,
                n,
                ".95",
                lambda rng, p=right, n=n: holds(mean_interval(coins(rng, n, p), proportion=True), p),
            )
        for name, (drawn, true) in shapes.items():
            yield check.share(
                f"interval of a mean, {name}",
                n,
                ".95",
                lambda rng, drawn=drawn, true=true, n=n: holds(mean_interval(drawn(rng, n)), true),
            )
        for name, graded in (("shares", False), ("graded", True)):
            yield check.share(
                f"interval in the natural mix, {name}", n, ".95", lambda rng, g=graded, n=n: stratified(rng, n, g)
            )
        for name, binary in (("shares", True), ("graded", False)):
            yield from check.shares(
                {
                    f"interval of a mean, {name}, luck by article: on these documents": ".95",
                    "the same: on new documents": "not promised",
                },
                n,
                lambda rng, n=n, binary=binary: on_documents(rng, n, binary),
            )
        yield check.share(
            "interval of a median, times",
            n,
            ".95",
            lambda rng, n=n: holds(quantile_interval(rng.lognormal(size=n).tolist(), 0.5), 1.0),
        )


def coins(rng: Rng, n: int, p: float) -> list[float]:
    return (rng.random(n) < p).astype(float).tolist()


def stratified(rng: Rng, n: int, graded: bool) -> bool | None:
    strata = []
    for name, count in MIX.items():
        values = np.array(coins(rng, n // 4, RIGHT[name]))
        strata.append(Stratum(count, (values * rng.choice([0.6, 1.0], n // 4) if graded else values).tolist()))
    true = natural(RIGHT) * (0.8 if graded else 1.0)
    return holds(weighted_mean_interval(strata, proportion=not graded), true)


def on_documents(rng: Rng, n: int, binary: bool) -> tuple[bool | None, bool | None]:
    values, true = with_luck(rng, n, binary=binary)
    interval = mean_interval(values, proportion=binary)
    return holds(interval, true), holds(interval, 0.5)


def others(check: Check) -> Iterator[Row]:
    for n in (one for one in check.sizes if 30 <= one <= 200):
        for world in ("normal", "lognormal", "three to a document"):
            for name in ("pearson", "spearman", "kendall"):
                yield check.share(
                    f"interval of a correlation, {name}, {world}",
                    n,
                    ".95",
                    lambda rng, m=name, w=world, n=n: correlation(rng, n, m, w),
                )
        yield check.share("interval of an AUC", n, ".95", lambda rng, n=n: area(rng, n))


def correlation(rng: Rng, n: int, name: str, world: str) -> bool | None:
    clusters = np.arange(n) // 3 if world.startswith("three") else np.arange(n)
    shared = rng.normal(size=n)[clusters]
    other = (0.6 * shared + 0.8 * rng.normal(size=n)[clusters]) * 0.8 + 0.6 * rng.normal(size=n)
    one, rho = 0.8 * shared + 0.6 * rng.normal(size=n), 0.64 * 0.6
    true = {
        "pearson": np.expm1(rho) / np.expm1(1) if world == "lognormal" else rho,
        "spearman": 6 / np.pi * np.arcsin(rho / 2),
        "kendall": 2 / np.pi * np.arcsin(rho),
    }[name]
    if world == "lognormal":
        one, other = np.exp(one), np.exp(other)
    found = correlate(one.tolist(), other.tolist(), clusters.tolist())
    return holds(getattr(found, name).interval, float(true))


def area(rng: Rng, n: int) -> bool | None:
    hard = rng.normal(0, 0.7, n)
    scores = [
        QueryScores((at + 1 + rng.normal(size=1)).tolist(), (at + rng.normal(size=3)).tolist()) for at in hard
    ]
    # Positives are 1 above negatives; both vary by query and individually.
    spread = np.sqrt(2 * (1 + 0.49))
    from scipy.stats import norm

    return holds(auc(scores).interval, float(norm.cdf(1 / spread)))


# Differences


def true_difference(world: World, ahead: float) -> float:
    return ahead * float(np.exp(0.5 + 0.18)) if world.skewed else ahead


def differences(check: Check) -> Iterator[Row]:
    for n in check.sizes:
        for name, world in WORLDS.items():
            for ahead in (0.0, 0.05):

                def case(rng: Rng, world: World = world, ahead: float = ahead, n: int = n) -> bool | None:
                    (pair,) = compared(*systems(rng, n, (ahead, 0.0), world), costs=world.skewed).pairs
                    by_cluster = world.by_article > 0
                    interval = pair.interval_clusters if by_cluster else pair.interval
                    return holds(interval, true_difference(world, ahead))

                yield check.share(f"interval of a difference of {ahead:g}, {name}", n, ".95", case)


def errors(check: Check) -> Iterator[Row]:
    """How often any of many equal systems is called better, and how often an interval contradicts its verdict."""
    for n in check.sizes:
        for k in (4, 9):
            for name, world in WORLDS.items():

                def case(rng: Rng, world: World = world, k: int = k, n: int = n) -> bool:
                    found = compared(*systems(rng, n, (0.0,) * k, world), costs=world.skewed)
                    return any(said(pair, world) for pair in found.pairs)

                yield check.share(
                    f"any of {k} equal systems called better, {name}", n, "at most .05", case, k // 4
                )
        world = World(by_article=0.15)
        yield check.share(
            "the same of 4, without a look at articles",
            n,
            "not promised",
            lambda rng, n=n, world=world: any(
                pair.significant for pair in compared(*systems(rng, n, (0.0,) * 4, world)).pairs
            ),
        )
        yield check.share(
            "an interval contradicts its verdict, 4 systems",
            n,
            "0",
            lambda rng, n=n: contradicted(
                compared(*systems(rng, n, (0.0, 0.05, 0.1, 0.15), World(binary=bool(rng.integers(2)))))
            ),
        )
        yield check.share(
            "all 6 intervals of 4 systems hold at once, shares",
            n,
            "not promised",
            lambda rng, n=n: all_hold(compared(*systems(rng, n, (0.0, 0.05, 0.1, 0.15), World()))),
        )


def mixes(check: Check) -> Iterator[Row]:
    """How often one of two systems is called better that are equal but differ by type, if types have few
    queries.
    """
    for few, many in ((2, 20), (10, 20), (2, 100), (20, 100), (50, 50)):
        for better in (0.1, 0.3):

            def case(rng: Rng, few: int = few, many: int = many, better: float = better) -> bool:
                (pair,) = compared(*hidden(rng, (many, few, many, many), better)).pairs
                return pair.significant

            what = (
                f"one of 2 equal systems called better, {few} of a type, {many} of each other, {better:.0%} apart"
            )
            yield check.share(what, few + 3 * many, "at most .05", case)


def said(pair: ComparedPair, world: World) -> bool:
    return pair.population == "new documents" if world.by_article else pair.significant


def contradicted(found: MeasureComparison) -> bool:
    return any(
        pair.significant != (pair.interval.low > 0 or pair.interval.high < 0)
        for pair in found.pairs
        if pair.interval.low is not None and pair.interval.high is not None
    )


def all_hold(found: MeasureComparison) -> bool | None:
    ahead = (0.0, 0.05, 0.1, 0.15)
    held = [holds(pair.interval, ahead[pair.a] - ahead[pair.b]) for pair in found.pairs]
    return None if None in held else all(held)


# What a plan says, and choices


def power(check: Check) -> Iterator[Row]:
    for pairs in (1, 6):
        for step in STEPS:
            n = queries_needed(step, pairs)
            if n is None or n > 10 * max(check.sizes):
                continue
            psi = max(DISCORDANCE, step)

            def case(rng: Rng, n: int = n, pairs: int = pairs, step: float = step, psi: float = psi) -> bool:
                won, lost, _ = rng.multinomial(n, [(psi + step) / 2, (psi - step) / 2, 1 - psi])
                return bool(won > lost and mcnemar_p(int(won), int(lost)) <= ALPHA / pairs)

            what = f"a true difference of {100 * step:.0f} points is found, {pairs} pair{'s' * (pairs > 1)}"
            yield check.share(what, n, ".80", case)


def pilots(check: Check) -> Iterator[Row]:
    """Whether the number of queries that a pilot recommends has the stated power."""
    for n in (one for one in check.sizes if one < 1_000):
        for psi in (0.06, 0.1, 0.25):

            def case(rng: Rng, n: int = n, psi: float = psi) -> bool | None:
                won, lost, level = rng.multinomial(n, [(psi + 0.05) / 2, (psi - 0.05) / 2, 1 - psi])
                found = spread_of(np.repeat([1.0, -1.0, 0.0], [won, lost, level]), binary=True)
                needed = found.needed(0.05, 1) if found else None
                return None if needed is None else share_power(needed, 0.05, psi, ALPHA) > _NEARLY

            what = f"a pilot asks for enough queries for 5 points, shares that differ on {psi:.0%}"
            yield check.share(what, n, "at least .90", case)
        for name, drawn, sd in _GRADED:

            def graded(rng: Rng, n: int = n, drawn: Drawing = drawn, sd: float = sd) -> bool | None:
                found = spread_of(drawn(rng, n) + 0.05)
                needed = found.needed(0.05, 1) if found else None
                return None if needed is None else graded_power(needed, 0.05, sd, ALPHA) > _NEARLY

            yield check.share(f"a pilot asks for enough queries for 5 points, {name}", n, "at least .90", graded)


Drawing = Callable[[Rng, int], Array]
_NEARLY = 0.795
"""Power of 80 %, allowing for the saw-tooth power of a test on counts."""
_GRADED: tuple[tuple[str, Drawing, float], ...] = (
    ("graded, even", lambda rng, n: rng.choice([-0.5, -0.25, 0, 0.25, 0.5], n), float(np.sqrt(0.125))),
    (
        "graded, 90 % are equal",
        lambda rng, n: rng.choice([-0.5, 0.5], n) * (rng.random(n) < 0.1),
        float(np.sqrt(0.025)),
    ),
)
"""Differences before 5 points are added, and their standard deviation."""


def selection(check: Check) -> Iterator[Row]:
    for n in check.sizes:

        def inferior(rng: Rng, n: int = n) -> bool:
            # The cheapest is worse by exactly the margin; the others are equal.
            found = compared(*systems(rng, n, (-MARGIN * 3, 0.0, 0.0, 0.0), World(binary=False)))
            chosen = cheapest_as_good(found, (1.0, 2.0, 3.0, 4.0))
            return chosen is not None and chosen.place == 0

        def inferior_share(rng: Rng, n: int = n) -> bool:
            found = compared(*systems(rng, n, (-MARGIN, 0.0, 0.0, 0.0), World()))
            chosen = cheapest_as_good(found, (1.0, 2.0, 3.0, 4.0), margin=MARGIN)
            return chosen is not None and chosen.place == 0

        yield check.share("the cheapest, worse by the margin, called as good: graded", n, "at most .025", inferior)
        yield check.share(
            "the cheapest, worse by the margin, called as good: shares", n, "at most .025", inferior_share
        )
        yield check.share(
            "the cheapest, as good as the others, called so: shares",
            n,
            "not promised",
            lambda rng, n=n: (
                cheapest_as_good(
                    compared(*systems(rng, n, (0.0,) * 4, World())), (1.0, 2.0, 3.0, 4.0), margin=MARGIN
                )
                is not None
            ),
        )
        yield from best_of_nine(check, n)


def best_of_nine(check: Check, n: int) -> Iterator[Row]:
    def case(rng: Rng) -> tuple[float, float]:
        found = best_of(compared(*systems(rng, n, (0.0,) * 9, World())))
        if found is None:
            raise ValueError(f"{n:,} queries are too few to split")
        return 100 * (found.looked - 0.5), 100 * (found.mean - 0.5)

    nominal = {
        "best of 9 equal systems: points it looks better": "not promised",
        "best of 9 equal systems: points left after correction": "0",
    }
    return check.means(nominal, n, case)


def looking_again(check: Check) -> Iterator[Row]:
    n = 1_000 if check.replicates > 10 else 60

    def ever(p_of: Callable[[int, int], float], every: int) -> Callable[[Rng], bool]:
        def case(rng: Rng) -> bool:
            wins = np.cumsum(rng.random(n) < 0.5)
            looks = range(every, n + 1, every)
            return any(p_of(int(wins[at - 1]), at - int(wins[at - 1])) <= ALPHA for at in looks)

        return case

    yield check.share(
        "equal systems called different at any of all queries, anytime p", n, "at most .05", ever(anytime_p, 1)
    )
    yield check.share("the same at any of 10 growths, McNemar's p", n, "not promised", ever(mcnemar_p, n // 10))


CHECKS: dict[str, Callable[[Check], Iterator[Row]]] = {
    "means": means,
    "others": others,
    "differences": differences,
    "errors": errors,
    "mixes": mixes,
    "verdicts": verdicts,
    "power": power,
    "pilots": pilots,
    "selection": selection,
    "looking-again": looking_again,
}

if __name__ == "__main__":
    started(main)
