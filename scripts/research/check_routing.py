"""Does the interval of a learnt routing table's gain cover the true gain? The truth is simulated.

Systems are right with a probability that is the same for all query types (`none`) or differs by type (`types`),
optionally with a random effect per article (`by article`). The true gain is that of tables learnt from half of
such queries, computed from the probabilities, over all cases. Printed: the mean estimated gain, the true gain, how
often the interval covers it, how often a gain is reported as significant, and the gain if the best choice per type
is evaluated on the same queries that selected it.

Not tested: how accurately types are classified (check_query_types.py).

Examples:
  .venv/bin/python scripts/research/check_routing.py
  .venv/bin/python scripts/research/check_routing.py --cases 20 --sizes 100
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from common import command_line, print_table, started
from numpy.typing import NDArray

from harness.extensions.routing.gains import RecordedResults, best_of_types, learnt_table, routing_gains
from harness.statistics.confidence_intervals import wilson

TYPES = ("comparison", "inference", "temporal")
_TOLD = "labels"
_SLACK = 1e-9
_OF_ARTICLE = 4
"""Mean number of queries per article."""


@dataclass(frozen=True)
class RoutedWorld:
    """The distribution of values."""

    apart: float = 0.0
    """How much the systems' probabilities differ from type to type."""
    by_article: float = 0.0
    """Standard deviation of a system's random effect per article."""
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
    """The result of one simulated sample."""

    said: float
    low: float
    high: float
    true: float
    """The true gain of the tables learnt in its splits."""
    looked: float
    """The gain of the best system per type over the best single system, on the queries that selected both."""


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--cases", type=int, default=300, help="samples per row")
    parser.add_argument("--sizes", type=int, nargs="+", default=[80, 160, 400], help="queries per sample")
    asked = parser.parse_args()
    header = ("systems differ by", "queries", "said", "true", "95 % holds", "called a gain", "on the same queries")
    print_table(header, _rows(asked.cases, asked.sizes))


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
    recorded = RecordedResults(values, np.ones(n), types)
    clusters: NDArray[np.int64] = articles.astype(np.int64)
    gains = routing_gains(recorded, clusters, {_TOLD: types})
    found = gains.over_splits(gains.learnt[_TOLD].gains)
    tables = [learnt_table(recorded.of(teaches)) for teaches in gains.teaches]
    true = [
        float(np.mean([chances[at, table.systems.get(name, table.otherwise)] for at, name in enumerate(TYPES)]))
        - float(chances[:, table.otherwise].mean())
        for table in tables
    ]
    best = recorded.mean(best_of_types(recorded).choices(types)) - values.mean(axis=0).max()
    mean = found.value or 0.0
    low, high = (mean if end is None else end for end in (found.low, found.high))
    return RoutedCase(mean, low, high, true=float(np.mean(true)), looked=float(best))


if __name__ == "__main__":
    started(main)
