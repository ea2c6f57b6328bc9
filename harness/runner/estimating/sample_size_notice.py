"""Notice about the statistical power of a sample, printed before a run. It never stops one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.core.errors import MissingDependency
from harness.display.text_format import counted
from harness.runner.plan import Cell
from harness.statistics.power import DISCORDANCE, POWER, STEPS, can_show_anything, queries_needed, rounded_up


@dataclass(frozen=True)
class SampleSize:
    """The systems compared over one sample, and the number of queries needed to find differences between them."""

    dataset: str
    n_queries: int
    n_available: int
    n_systems: int
    """Without baselines. A single system counts as one pair."""
    needed: dict[float, int | None]
    """Difference of two shares -> queries needed for 80 % power with Holm's correction over all pairs. None if too
    many."""
    generates: bool = True
    """Whether answers are compared; otherwise retrieval alone."""

    @property
    def n_pairs(self) -> int:
        return max(1, self.n_systems * (self.n_systems - 1) // 2)

    @property
    def warning(self) -> str:
        """Empty if these queries can show a difference."""
        n = self.n_queries
        if not can_show_anything(n, self.n_pairs):
            return "no difference can be significant; "
        if not can_show_anything(n - 1, self.n_pairs):
            return f"a difference is significant only if one system is better on {n:,} of {n:,}; "
        return ""

    @property
    def line(self) -> str:
        n, what = self.n_queries, f"{counted(self.n_systems, 'run')}, {counted(self.n_pairs, 'pair')}"
        phase = "answers" if self.generates else "search alone"
        subject = f"sample size for {phase}, {self.dataset}, {counted(n, 'query', 'queries')}, {what}"
        takes = ", ".join(
            f"{100 * step:g} points {'too many' if queries is None else f'about {rounded_up(queries):,}'}"
            for step, queries in sorted(self.needed.items())
        )
        power, differ = f"{100 * POWER:g} % power", f"two systems differ on {100 * DISCORDANCE:g} % of them"
        return (
            f"{subject}: {self.warning}queries needed to find a true difference with {power}, if {differ}: "
            f"{takes}; the data set has {self.n_available:,}"
        )


def sample_sizes(cells: Sequence[Cell]) -> list[SampleSize]:
    """One for each sample that has systems to compare; none if the package for power analysis is not installed."""
    samples: dict[tuple[str, bool], list[Cell]] = {}
    for cell in cells:
        if not cell.spec.baseline:
            samples.setdefault((cell.dataset.digest, cell.generates), []).append(cell)
    try:
        return [_size(own) for own in samples.values()]
    except MissingDependency:
        return []


def size_lines(sizes: Iterable[SampleSize]) -> list[str]:
    """One line for each sample, about the most systems that are compared over it: configs share samples."""
    most: dict[tuple[str, int], SampleSize] = {}
    for size in sizes:
        held = most.setdefault((size.dataset, size.n_queries), size)
        if size.n_systems > held.n_systems:
            most[size.dataset, size.n_queries] = size
    return [size.line for size in most.values() if size.n_systems > 1]


def sizes_json(sizes: Iterable[SampleSize]) -> list[dict[str, object]]:
    """As JSON; the keys of `needed` are differences in points."""
    return [
        {
            "dataset": size.dataset,
            "n_queries": size.n_queries,
            "n_available": size.n_available,
            "n_systems": size.n_systems,
            "n_pairs": size.n_pairs,
            "can_show_anything": can_show_anything(size.n_queries, size.n_pairs),
            "needed": {f"{100 * step:g}": queries for step, queries in size.needed.items()},
        }
        for size in sizes
    ]


def _size(cells: Sequence[Cell]) -> SampleSize:
    dataset = cells[0].dataset
    pairs = max(1, len(cells) * (len(cells) - 1) // 2)
    return SampleSize(
        dataset=dataset.name_in_runs,
        n_queries=len(dataset.queries),
        n_available=max(len(dataset.queries), sum(dataset.type_mix.values())),
        n_systems=len(cells),
        generates=cells[0].generates,
        needed={step: queries_needed(step, pairs) for step in STEPS},
    )
