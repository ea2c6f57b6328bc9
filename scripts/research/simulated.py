"""Simulated runs with known true values, for check_statistics.py."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.statistics.confidence_intervals import wilson
from harness.statistics.paired_comparison import MeasureComparison, PairedMeasure, compare_measure
from harness.statistics.query_values import QueryValues
from harness.statistics.sampling_design import SamplingDesign

Array = NDArray[np.float64]
Rng = np.random.Generator
Row = tuple[str, str, str, str, str, str]

# Query types: their share of the data set, their share of a balanced sample, how often systems are right.
MIX = {"comparison": 856, "inference": 816, "null": 301, "temporal": 583}
RIGHT = {"comparison": 0.6, "inference": 0.9, "null": 0.7, "temporal": 0.4}


@dataclass(frozen=True)
class World:
    """The distribution of values."""

    binary: bool = True
    skewed: bool = False
    """Costs with a long tail instead of scores."""
    by_article: float = 0.0
    """Standard deviation of a system's random effect per article."""
    stratified: bool = False
    """The same number of queries of each type, whatever the data set's mix."""


WORLDS = {
    "shares": World(),
    "graded": World(binary=False),
    "costs, long tail": World(skewed=True, binary=False),
    "shares in the natural mix": World(stratified=True),
    "shares, luck by article": World(by_article=0.15),
    "graded, luck by article": World(binary=False, by_article=0.15),
}


class Check:
    """The number of cases, and a separate random generator for each row. With `keep`, cases are written to that
    file, from which an interrupted check resumes.
    """

    def __init__(self, replicates: int, sizes: Sequence[int], keep: Path | None = None) -> None:
        self.replicates, self.sizes, self._keep = replicates, sizes, keep
        self._kept: defaultdict[tuple[str, int], list[Any]] = defaultdict(list)
        lines = keep.read_text(encoding="utf-8").splitlines() if keep and keep.exists() else []
        for what, n, outcome in map(json.loads, lines):
            self._kept[what, n].append(outcome)

    def share(self, what: str, n: int, nominal: str, case: Callable[[Rng], bool | None], every: int = 1) -> Row:
        """How often `case` is true; None: not counted (no interval). One of `every` replicates is made."""
        (row,) = self.shares({what: nominal}, n, lambda rng: (case(rng),), every)
        return row

    def shares(
        self,
        nominal: Mapping[str, str],
        n: int,
        case: Callable[[Rng], Sequence[bool | None]],
        every: int = 1,
    ) -> Iterator[Row]:
        """The same for several results of one case, in the order of `nominal`."""
        found = self.cases(
            next(iter(nominal)), n, lambda rng: [None if one is None else bool(one) for one in case(rng)], every
        )
        for (what, promised), own in zip(nominal.items(), zip(*found, strict=True), strict=True):
            known = [one for one in own if one is not None]
            measured = f"{np.mean(known):.3f}" if known else "none given"
            low, high = wilson(sum(known), len(known))
            sure = "" if low is None or high is None else f"{low:.3f} to {high:.3f}"
            left = f", {len(own) - len(known):,} without" if known and len(known) < len(own) else ""
            yield what, f"{n:,}", promised, measured, sure, f"{len(own):,}{left}"

    def means(
        self, nominal: Mapping[str, str], n: int, case: Callable[[Rng], Sequence[float]], every: int = 1
    ) -> Iterator[Row]:
        """The means of several numbers of one case, in the order of `nominal`."""
        found = self.cases(next(iter(nominal)), n, lambda rng: [float(one) for one in case(rng)], every)
        for (what, promised), own in zip(nominal.items(), zip(*found, strict=True), strict=True):
            mean, reach = np.mean(own), 1.96 * np.std(own) / np.sqrt(len(own))
            yield (
                what,
                f"{n:,}",
                promised,
                f"{mean:+.1f}",
                f"{mean - reach:+.1f} to {mean + reach:+.1f}",
                f"{len(own):,}",
            )

    def cases(self, what: str, n: int, case: Callable[[Rng], Any], every: int = 1) -> list[Any]:
        """The result of each case, each with its own generator; kept cases are not repeated."""
        wanted, found = max(4, self.replicates // (every * (4 if n >= 1_000 else 1))), self._kept[what, n]
        for place in range(len(found), wanted):
            found.append(case(np.random.default_rng([n, *what.encode(), place])))
            if self._keep:
                with self._keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([what, n, found[-1]]) + "\n")
        return found


def systems(rng: Rng, n: int, ahead: tuple[float, ...], world: World) -> tuple[Array, SamplingDesign]:
    """Values of `n` queries, a column per system; system i leads by `ahead[i]`.

    Its mean over the whole population of queries is then 0.5 (for scores; the mean of RIGHT in the natural mix, if
    queries are stratified) plus `ahead[i]`.
    """
    types = np.array([list(MIX)[place % 4] for place in range(n)]) if world.stratified else np.repeat("one", n)
    base = np.array([RIGHT.get(name, 0.5) for name in types])
    hard = rng.uniform(-0.25, 0.25, n) * np.minimum(base, 1 - base)
    clusters, popular = _articles(rng, n)
    luck = rng.uniform(-1, 1, (len(popular), len(ahead))) * np.sqrt(3) * world.by_article
    chance = base[:, None] + hard[:, None] + luck[clusters] + np.array(ahead)
    if world.skewed:
        values = (1 + np.array(ahead)) * rng.lognormal(size=(n, 1)) * rng.lognormal(0, 0.6, (n, len(ahead)))
    elif world.binary:
        values = (rng.random((n, len(ahead))) < chance).astype(np.float64)
    else:
        values = np.round(np.clip(chance + rng.choice([-0.3, -0.1, 0.1, 0.3], (n, len(ahead))), -1, 2), 2)
    ids = [f"q{place:04d}" for place in range(n)]
    drawn = SamplingDesign(
        dict(zip(ids, types.tolist(), strict=True)),
        MIX if world.stratified else {},
        {one: f"d{article}" for one, article in zip(ids, clusters.tolist(), strict=True)}
        if world.by_article
        else {},
    )
    return values, drawn


def compared(values: Array, drawn: SamplingDesign, costs: bool = False) -> MeasureComparison:
    """The harness's comparison of all pairs."""
    ids = [f"q{place:04d}" for place in range(len(values))]
    runs = [QueryValues.of(dict(zip(ids, column.tolist(), strict=True)), frozenset(ids)) for column in values.T]
    places = itertools.combinations(range(len(runs)), 2)
    ends = (0.0, 1.0) if np.isin(values, (0.0, 1.0)).all() else (-1.0, 2.0)
    measure = PairedMeasure("m", True, tuple(runs), is_cost=costs, range=None if costs else ends)
    return compare_measure(measure, dict.fromkeys(places, frozenset(ids)), drawn)


def hidden(rng: Rng, sizes: Sequence[int], better: float) -> tuple[Array, SamplingDesign]:
    """Two systems that are equal in the natural mix, with so many queries of each type of MIX: the first is better
    on that share of the inference queries, the second on enough of the others to compensate.
    """
    types = [name for name, size in zip(MIX, sizes, strict=True) for _ in range(size)]
    share = MIX["inference"] / sum(MIX.values())
    first = np.array([name == "inference" for name in types])
    chance = np.where(first, better, better * share / (1 - share))
    found = rng.random(len(types)) < chance
    ids = [f"q{place:04d}" for place in range(len(types))]
    return np.stack([found & first, found & ~first], axis=1).astype(np.float64), SamplingDesign(
        dict(zip(ids, types, strict=True)), MIX
    )


def natural(of_type: Mapping[str, float]) -> float:
    """A mean over types with the weights of the data set."""
    return sum(MIX[name] * value for name, value in of_type.items()) / sum(MIX.values())


def with_luck(rng: Rng, n: int, *, binary: bool) -> tuple[list[float], float]:
    """The values of one system on `n` queries, and its mean over the population of queries on these articles, each
    with a random effect (standard deviation .15); over the population of articles the mean is 0.5.
    """
    clusters, popular = _articles(rng, n)
    luck = rng.uniform(-1, 1, len(popular)) * np.sqrt(3) * 0.15
    chance = 0.5 + luck[clusters]
    values = rng.random(n) < chance if binary else chance + rng.choice([-0.2, -0.1, 0.1, 0.2], n)
    return values.astype(np.float64).tolist(), 0.5 + float(popular @ luck)


def _articles(rng: Rng, n: int) -> tuple[NDArray[np.int64], Array]:
    """An article for each query, a few cited by many as in MultiHop-RAG; and each article's share of all
    queries.
    """
    popular = 1 / np.arange(2, max(2, n // 2) + 2)
    popular /= popular.sum()
    return rng.choice(len(popular), n, p=popular), popular
