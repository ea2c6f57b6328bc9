"""Does the gain of a learnt routing table hold what its interval says? Truth is simulated.

Systems have a chance of being right on each type of query, the same everywhere (`none`), or other ones
(`types`), and their own luck with each article (`by article`). The true gain is that of tables learnt from half
of such queries, computed from the chances themselves, over all cases. Printed: the gain said on average, the
true one, how often the interval holds it, how often a gain is said to be shown, and what comparing the best
choice of each type on the very queries that chose it would have said.

What it does not say: how well types are told (check_query_types.py).

Examples:
  .venv/bin/python scripts/research/check_routing.py
  .venv/bin/python scripts/research/check_routing.py --cases 20 --sizes 100
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from common import command_line, print_table, started
from numpy.typing import NDArray

from harness.extensions.routing.gains import halves, routing_gains, spread_over
from harness.extensions.routing.learning import Recorded, best_of_types, learnt_table
from harness.statistics.intervals import wilson

TYPES = ("comparison", "inference", "temporal")
_TOLD = "labels"
_SLACK = 1e-9
_OF_ARTICLE = 4
"""Queries of an article, on average."""


@dataclass(frozen=True)
class RoutedWorld:
    """Where values come from."""

    apart: float = 0.0
    """How far chances of systems lie apart from type to type."""
    by_article: float = 0.0
    """Standard deviation of a system's own luck with an article."""
    n_systems: int = 4


WORLDS = {
    "none": RoutedWorld(),
    "none, nine systems": RoutedWorld(n_systems=9),
    "none, luck by article": RoutedWorld(by_article=0.2),
    "types": RoutedWorld(apart=0.15),
    "types, luck by article": RoutedWorld(apart=0.15, by_article=0.2),
}


@dataclass(frozen=True)
class RoutedCase:
    """What one simulated sample gave."""

    said: float
    low: float
    high: float
    true: float
    """The true gain of tables as its splits learnt them."""
    looked: float
    """What the best of each type gains over the best single system on the queries that chose both."""


def main() -> None:
    """See above."""
    arguments = _arguments()
    print_table(
        ("systems differ by", "queries", "said", "true", "95 % holds", "called a gain", "on the same queries"),
        _rows(arguments.cases, arguments.sizes),
    )


def _arguments() -> argparse.Namespace:
    parser = command_line(__doc__)
    parser.add_argument("--cases", type=int, default=300, help="samples of each row")
    parser.add_argument("--sizes", type=int, nargs="+", default=[80, 160, 400], help="queries of a sample")
    return parser.parse_args()


def _rows(n_cases: int, sizes: list[int]) -> Iterator[tuple[str, ...]]:
    for name, world in WORLDS.items():
        for n in sizes:
            rng = np.random.default_rng([len(name), n])
            cases = [_case(world, n, rng) for _ in range(n_cases)]
            true = float(np.mean([one.true for one in cases]))
            held = sum(one.low - _SLACK <= true <= one.high + _SLACK for one in cases)
            shown = sum(one.low > _SLACK for one in cases)
            said, looked = np.mean([one.said for one in cases]), np.mean([one.looked for one in cases])
            low, high = wilson(held, n_cases)
            yield (
                *(name, str(n), f"{said:+.3f}", f"{true:+.3f}"),
                *(f"{held / n_cases:.2f} [{low:.2f}, {high:.2f}]", f"{shown / n_cases:.3f}", f"{looked:+.3f}"),
            )


def _case(world: RoutedWorld, n: int, rng: np.random.Generator) -> RoutedCase:
    chances = np.full((len(TYPES), world.n_systems), 0.6)
    for system in range(world.n_systems):
        chances[:, system] += world.apart * np.roll([1.0, 0.0, -1.0], system)
    kinds, articles = rng.integers(len(TYPES), size=n), rng.integers(max(2, n // _OF_ARTICLE), size=n)
    luck = rng.normal(0, world.by_article, (n, world.n_systems))[articles]
    values = (rng.random((n, world.n_systems)) < np.clip(chances[kinds] + luck, 0, 1)).astype(np.float64)
    types = [TYPES[kind] for kind in kinds]
    recorded = Recorded(values, np.ones(n), types)
    clusters: NDArray[np.int64] = articles.astype(np.int64)
    splits = list(halves(clusters))
    gains = routing_gains(recorded, clusters, {_TOLD: types}, splits)
    found = spread_over(gains.learnt[_TOLD].gains, splits, gains.n_clusters)
    tables = [learnt_table(recorded.of(split.teaches)) for split in splits]
    true = [
        float(np.mean([chances[at, table.systems.get(name, table.otherwise)] for at, name in enumerate(TYPES)]))
        - float(chances[:, table.otherwise].mean())
        for table in tables
    ]
    best = recorded.mean(best_of_types(recorded).choices(types)) - values.mean(axis=0).max()
    low, high = found.interval
    return RoutedCase(
        said=found.mean,
        low=found.mean if low is None else low,
        high=found.mean if high is None else high,
        true=float(np.mean(true)),
        looked=float(best),
    )


if __name__ == "__main__":
    started(main)
