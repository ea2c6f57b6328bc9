"""Does a race keep its promise, and what does it save? Truth is simulated, the real code decides.

Systems whose means are known answer one query after another, and `harness.statistics.race_test` looks after each.
Two that are equal differ on a quarter of the queries where they are equal; graded values lie between 0 and 0.95,
most near either end, in hundredths. `in the natural mix`: as many queries of each type of MultiHop-RAG as of any
other, in the order in which the harness takes them, weighted as it weighs them; the last system is better at some
types and worse at others, so that what holds of all queries alike does not hold of the mix.

Examples:
  .venv/bin/python scripts/research/check_race.py > table.md
  .venv/bin/python scripts/research/check_race.py --replicates 1000 --cap 2000 --only "natural mix"
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from common import command_line, print_table
from racing import HEADER, MEANING, Run, fixed_n, raced, row
from simulated import MIX, Array, Rng

from harness.core.records import Reference
from harness.runner.query_order import query_order
from harness.statistics.race_test import RaceRules
from harness.statistics.sampling_design import SamplingDesign

RULES = RaceRules(margin=5.0, alpha=0.05)
_SHARED = 0.5**0.5
"""The chance that a system shares the luck of a query: two equal ones then differ on a quarter of them."""
_BY_TYPE = {"comparison": 0.2, "inference": -0.2}
"""How far the last system is ahead on queries of a type; on the others so that nothing is left in the mix."""


@dataclass(frozen=True)
class Kind:
    """Who races."""

    values: str
    n_systems: int
    points: int
    """By so much the last is better than all others."""

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


def main() -> None:
    parser = command_line(__doc__)
    parser.epilog = MEANING
    parser.add_argument("--replicates", type=int, default=200, help="races of each row (default 200)")
    parser.add_argument("--cap", type=int, default=600, help="queries there are (default 600)")
    parser.add_argument("--only", default="", help="rows whose first two cells hold this text")
    chosen = parser.parse_args()
    kinds = [kind for kind in KINDS if chosen.only in f"{kind.values} {kind.title}"]
    print_table(("values", "systems", *HEADER), rows(kinds, chosen.replicates, chosen.cap))


def rows(kinds: Sequence[Kind], replicates: int, cap: int) -> Iterator[Sequence[str]]:
    for kind in kinds:
        # Of equal systems none may leave: a seed of its own for each row, the same in every call.
        seed = [kind.n_systems, kind.points % 100, *kind.values.encode()]
        draws = (drawn(np.random.default_rng([*seed, place]), kind, cap, place) for place in range(replicates))
        found = [raced(one, RULES) for one in draws]
        yield kind.values, kind.title, *row(found, kind.n_systems, cap, _fixed(kind))


def drawn(rng: Rng, kind: Kind, n: int, seed: int) -> Run:
    """What the systems of one race have on `n` queries."""
    ahead = np.zeros((n, kind.n_systems))
    ahead[:, -1] = kind.points / 100
    ids, weights = [str(place) for place in range(n)], np.ones(n)
    if "mix" in kind.values:
        ids, types, weights = _in_the_mix(n, seed)
        ahead[:, -1] += types
    luck = np.where(rng.random((n, kind.n_systems)) < _SHARED, rng.random((n, 1)), rng.random((n, kind.n_systems)))
    truth = [*[0.0] * (kind.n_systems - 1), float(kind.points)]
    if kind.values.startswith("graded"):
        # Steps in luck, not in what is ahead, which would not always be a step.
        values = 0.7 * np.round(np.sin(np.pi / 2 * luck) ** 2, 2) + ahead
        return Run(values, ids, weights, truth)
    return Run((luck < 0.5 + ahead).astype(np.float64), ids, weights, truth)


def _in_the_mix(n: int, seed: int) -> tuple[list[str], Array, Array]:
    """Ids in the order taken, how far the last system is ahead on each, what each stands for."""
    of = {f"q{place:04d}": list(MIX)[place % len(MIX)] for place in range(n)}
    ids = query_order([Reference(query_id=one, query_type=of[one], answers=("a",)) for one in of], seed)
    share = {name: count / sum(MIX.values()) for name, count in MIX.items()}
    others = -sum(_BY_TYPE[name] * share[name] for name in _BY_TYPE) / (1 - sum(share[name] for name in _BY_TYPE))
    weights = SamplingDesign(of, MIX).weights(ids, ids, ids)
    assert weights is not None  # noqa: S101 - every type of the mix is there
    return ids, np.array([_BY_TYPE.get(of[one], others) for one in ids]), weights


def _fixed(kind: Kind) -> int | None:
    """Queries that find the difference with one look, each query alike."""
    alike = Kind(kind.values.split()[0], 2, kind.points)
    values = drawn(np.random.default_rng(0), alike, 100_000, 0).values
    return fixed_n(
        values[:, 1] - values[:, 0], kind.points, kind.n_systems, binary=kind.values.startswith("shares")
    )


if __name__ == "__main__":
    main()
