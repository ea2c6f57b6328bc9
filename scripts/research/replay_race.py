"""Does a race over recorded answers keep its error rate, and what would it have saved?

RUN are finished, scored run directories over the same queries, the entrants of one race. The race is repeated over
their recorded values, each time in another order that the harness draws (`query_order`), with the real code and
its weights.

`as recorded`: the truth is the result over all queries. `answers swapped`: within each query the answers are
randomly reassigned to the systems, so that all are equal, and any system called worse is an error.

For recorded runs, the fixed n is for the smallest difference from the best.

Examples:
  .venv/bin/python scripts/research/replay_race.py results/multihop_rag--naive--* --measure AllHit@10
  .venv/bin/python scripts/research/replay_race.py RUN RUN RUN --measure recall@10 --replays 1000
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from common import command_line, print_table, started
from racing import HEADER, MEANING, Raced, Run, fixed_n, raced, row
from simulated import Array

from harness.core.errors import ConfigError
from harness.core.records import Reference
from harness.datasets.sampling import query_order
from harness.protocols import Measure
from harness.report.view import Group, load_groups
from harness.statistics.confidence_intervals import span_between
from harness.statistics.prices import load_prices
from harness.statistics.race_test import RaceRules
from harness.store import RunDir


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


def main() -> None:
    parser = command_line(__doc__)
    parser.epilog = MEANING
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run directories")
    parser.add_argument("--measure", nargs="+", help="measure of the race (default: the primary metric)")
    parser.add_argument("--replays", type=int, default=200, help="races per row (default 200)")
    parser.add_argument("--margin", type=float, default=5.0, help="points (default 5)")
    chosen = parser.parse_args()
    group, *others = load_groups([RunDir(path) for path in chosen.runs], load_prices())
    if others or len(group.views) < 2:
        raise ConfigError(
            "these runs are not two or more over the same queries", "name runs of one report's chapter"
        )
    measures = chosen.measure or [group.ranking.measure]
    found = (one for name in measures for one in rows(recorded(group, name, chosen.margin), chosen.replays))
    print_table(("measure", "systems, points", "queries", "answers", *HEADER), found)


def recorded(group: Group, name: str, margin: float) -> RecordedResults:
    """One measure of the runs of a group."""
    measure = group.known.get(name)
    if measure is None or not all(name in view.values for view in group.views):
        raise ConfigError(f"not all of these runs have '{name}'", f"they have {', '.join(group.measures)}")
    span = span_between(measure.ends) if measure.ends else None
    if span is None:
        raise ConfigError(f"the range of '{name}' is unknown", "name another measure")
    sample = group.views[0].sample
    asked = [one for one in sample if all(one in view.values[name].values for view in group.views)]
    weights = group.views[0].frame.drawn.weights(asked, [*sample], asked)
    return RecordedResults(
        measure,
        RaceRules(margin, 0.05, span, measure.higher_is_better, measure.ends[0] if measure.ends else 0.0),
        [sample[one].reference for one in asked],
        np.array([[view.values[name].values[one] for view in group.views] for one in asked]),
        np.ones(len(asked)) if weights is None else weights,
    )


def rows(of: RecordedResults, replays: int) -> Iterator[Sequence[str]]:
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
    best = int(np.argmax(means))
    needed = [
        fixed_n(
            of.values[:, best] - of.values[:, other],
            float(means[best] - means[other]) * of.rules.span,
            len(means),
            binary=of.measure.binary,
        )
        for other in range(len(means))
        if other != best
    ]
    known = [one for one in needed if one is not None]
    return max(known) if len(known) == len(needed) else None


if __name__ == "__main__":
    started(main)
