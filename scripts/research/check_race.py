"""Does a race keep its promise, and what does it save? Truth is simulated, the real code decides.

Systems whose means are known answer one query after another, and `harness.analysis.race` looks after each. The
last is better than all others by the difference. `wrong`: the race stated anything untrue (of equals, that one is
worse; else, that the best is): at most alpha = .05. `settled`: all others had left within CAP queries. `n, mean`
counts those that were not settled with CAP; `n, 80 %`: within so many queries four of five races were settled, to
be held against `fixed n`, which finds the difference four times out of five with one look, after Holm over all
pairs. `answers`: what the race asked of all systems together, as a share of what the fixed n would ask; where
that is more than CAP, of CAP.

Two systems that are equal differ on a quarter of the queries where they are equal. Graded values lie between 0 and
0.95, most near either end.

Examples:
  .venv/bin/python scripts/research/check_race.py > table.md
  .venv/bin/python scripts/research/check_race.py --replicates 1000 --cap 2000
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from common import command_line, print_table
from simulated import MIX, Array, Rng

from harness.analysis.drawn import Drawn
from harness.analysis.power import graded_queries_needed, queries_needed, spread_of
from harness.analysis.race import Race, RaceRules

HEADER = ("values", "systems", "points", "wrong", "settled", "n, mean", "n, 80 %", "fixed n", "answers", "cases")
RULES = RaceRules(margin=5.0, alpha=0.05)
DIFFERENCES = (0, 5, 15, 25)
_SHARED = 0.5**0.5
"""The chance that a system shares the luck of a query: two equal ones then differ on a quarter of them."""
_BY_TYPE = {"comparison": 0.2, "inference": -0.2}
"""How far the last system is ahead on queries of a type; on the others so that nothing is left in the mix."""


@dataclass(frozen=True)
class Raced:
    """How one race ended."""

    n: int
    answers: int
    is_wrong: bool
    is_settled: bool


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--replicates", type=int, default=200, help="races of each row (default 200)")
    parser.add_argument("--cap", type=int, default=600, help="queries there are (default 600)")
    chosen = parser.parse_args()
    print_table(HEADER, rows(chosen.replicates, chosen.cap))


def rows(replicates: int, cap: int) -> Iterator[Sequence[str]]:
    for kind in ("shares", "graded"):
        for n_systems in (2, 4):
            for points in DIFFERENCES:
                yield row(kind, n_systems, points, replicates, cap)
    yield row("shares, equal in the natural mix alone", 2, 0, replicates, cap)


def row(kind: str, n_systems: int, points: int, replicates: int, cap: int) -> Sequence[str]:
    seed = [n_systems, points, *kind.encode()]
    draws = (
        drawn(np.random.default_rng([*seed, place]), kind, n_systems, points, cap) for place in range(replicates)
    )
    found = [race(*one, is_equal=points == 0) for one in draws]
    ns = sorted(one.n for one in found)
    enough = ns[int(0.8 * len(ns))]
    fixed = fixed_n(kind, n_systems, points)
    answers = np.mean([one.answers for one in found]) / (n_systems * min(fixed or cap, cap))
    return (
        kind,
        f"{n_systems}",
        f"{points}",
        f"{np.mean([one.is_wrong for one in found]):.3f}",
        f"{np.mean([one.is_settled for one in found]):.2f}",
        f"{np.mean(ns):,.0f}",
        f"{enough:,}" if enough < cap else "-",
        f"{fixed:,}" if fixed else "-",
        f"{100 * answers:.0f} %",
        f"{replicates:,}",
    )


def drawn(rng: Rng, kind: str, n_systems: int, points: int, n: int) -> tuple[Array, Array]:
    """(values, a column for each system; what each query stands for)."""
    luck = np.where(rng.random((n, n_systems)) < _SHARED, rng.random((n, 1)), rng.random((n, n_systems)))
    ahead = np.zeros((n, n_systems))
    ahead[:, -1] = points / 100
    weights = np.ones(n)
    if "mix" in kind:
        types = np.array([list(MIX)[place % len(MIX)] for place in range(n)])
        share = {name: count / sum(MIX.values()) for name, count in MIX.items()}
        others = -sum(_BY_TYPE[name] * share[name] for name in _BY_TYPE) / (
            1 - sum(share[name] for name in _BY_TYPE)
        )
        ahead[:, -1] = [_BY_TYPE.get(name, others) for name in types]
        ids = [str(place) for place in range(n)]
        found = Drawn(dict(zip(ids, types.tolist(), strict=True)), MIX).weights(ids, ids, ids)
        weights = weights if found is None else found
    if kind == "graded":
        return 0.7 * np.sin(np.pi / 2 * luck) ** 2 + ahead, weights
    return (luck < 0.5 + ahead).astype(np.float64), weights


def race(values: Array, weights: Array, *, is_equal: bool) -> Raced:
    names = [str(place) for place in range(values.shape[1])]
    raced = Race(names, RULES, {str(place): float(weight) for place, weight in enumerate(weights)})
    answers = 0
    for place, own in enumerate(values):
        answers += len(raced.active)
        raced.take(str(place), dict(zip(names, own.tolist(), strict=True)))
        if raced.is_decided:
            break
    is_settled = raced.active == names[-1:]
    is_wrong = bool(raced.dropped) if is_equal else names[-1] not in raced.active
    return Raced(raced.n_queries, answers, is_wrong, is_settled)


def fixed_n(kind: str, n_systems: int, points: int) -> int | None:
    """Queries that find the difference four times out of five, at one look, over all pairs."""
    if not points:
        return None
    values, _ = drawn(np.random.default_rng(0), kind, 2, points, 100_000)
    spread = spread_of(values[:, 1] - values[:, 0], binary=kind == "shares")
    pairs = n_systems * (n_systems - 1) // 2
    if spread is None:
        return None
    if spread.discordance is not None:
        return queries_needed(points / 100, pairs, spread.discordance)
    return graded_queries_needed(points / 100, pairs, spread.sd)


if __name__ == "__main__":
    main()
