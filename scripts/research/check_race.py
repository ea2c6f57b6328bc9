"""Does a race keep its error rate, and what does it save? The truth is simulated, the real code decides.

Systems with known means answer one query after another, and `harness.statistics.race_test` tests after each. Two
equal systems differ on a quarter of the queries; graded values lie between 0 and 0.95, most near either end, in
hundredths. `in the natural mix`: the same number of queries of each type of MultiHop-RAG, in the order and with
the weights of the harness; the last system is better at some types and worse at others, so that the unweighted
mean over all queries is not that of the mix.

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
from harness.datasets.sampling import query_order
from harness.statistics.race_test import RaceRules
from harness.statistics.sampling_design import SamplingDesign

RULES = RaceRules(margin=5.0, alpha=0.05)
_SHARED = 0.5**0.5
"""The probability that a system shares the random value of a query: two equal ones differ on a quarter of them."""
_BY_TYPE = {"comparison": 0.2, "inference": -0.2}
"""The lead of the last system on queries of a type; on the other types so that the lead in the mix is 0."""


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


def main() -> None:
    parser = command_line(__doc__)
    parser.epilog = MEANING
    parser.add_argument("--replicates", type=int, default=200, help="races per row (default 200)")
    parser.add_argument("--cap", type=int, default=600, help="maximum queries (default 600)")
    parser.add_argument("--only", default="", help="only rows whose first two cells contain this text")
    chosen = parser.parse_args()
    kinds = [kind for kind in KINDS if chosen.only in f"{kind.values} {kind.title}"]
    print_table(("values", "systems", *HEADER), rows(kinds, chosen.replicates, chosen.cap))


def rows(kinds: Sequence[Kind], replicates: int, cap: int) -> Iterator[Sequence[str]]:
    for kind in kinds:
        # A separate seed for each row, the same in every call, whatever --only selects.
        seed = [kind.n_systems, kind.points % 100, *kind.values.encode()]
        draws = (drawn(np.random.default_rng([*seed, place]), kind, cap, place) for place in range(replicates))
        found = [raced(one, RULES) for one in draws]
        yield kind.values, kind.title, *row(found, kind.n_systems, cap, _fixed(kind))


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


def _fixed(kind: Kind) -> int | None:
    """Queries with which a single unweighted test finds the difference."""
    alike = Kind(kind.values.split()[0], 2, kind.points)
    values = drawn(np.random.default_rng(0), alike, 100_000, 0).values
    return fixed_n(
        values[:, 1] - values[:, 0], kind.points, kind.n_systems, binary=kind.values.startswith("shares")
    )


if __name__ == "__main__":
    main()
