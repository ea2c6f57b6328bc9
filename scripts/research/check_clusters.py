"""How often does the test by document find a difference between equal systems, if luck by document is skewed?

Each document makes one system better or worse on its queries; the mean of that luck is 0. Documents have as many
queries as those of MultiHop-RAG (two have a third of all), or few. Prints the share of false differences at 5 %.
docs/decisions/0013-closed-form-intervals.md cites it.

Example:
  .venv/bin/python scripts/research/check_clusters.py --replicates 1000
"""

import argparse
from collections.abc import Callable

import numpy as np

from harness.statistics.difference_tests import ALPHA
from harness.statistics.permutation_test import flips_of

LUCK: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda rng, n: rng.normal(0, 1, n),
    "exponential": lambda rng, n: rng.exponential(1, n) - 1,
    "lognormal": lambda rng, n: rng.lognormal(0, 1, n) - np.exp(0.5),
    "a quarter far worse": lambda rng, n: np.where(rng.random(n) < 0.25, -0.75, 0.25),
    "a tenth far worse": lambda rng, n: np.where(rng.random(n) < 0.1, -0.9, 0.1),
    "a twentieth far worse": lambda rng, n: np.where(rng.random(n) < 0.05, -0.95, 0.05),
}


def sizes_of(kind: str, rng: np.random.Generator) -> np.ndarray:
    """Queries of each document."""
    if kind == "two large":
        return np.array([496, 346, *rng.geometric(0.2, 282)])
    return rng.geometric(0.18, int(kind))


def is_false(luck: str, kind: str, noise: float, rng: np.random.Generator) -> bool:
    """Whether one sample of equal systems shows a difference. `noise`: standard deviation within a document."""
    sizes = sizes_of(kind, rng)
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    differences = LUCK[luck](rng, len(sizes))[clusters] + rng.normal(0, noise, len(clusters))
    return flips_of(differences[:, None], clusters=clusters).p_values[0] <= ALPHA


def main() -> None:
    """Print a row for each kind of luck and noise, a column for each kind of sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=1000)
    replicates, kinds, rng = parser.parse_args().replicates, ("20", "100", "two large"), np.random.default_rng(0)
    print(f"| luck by document | noise | {' | '.join(kinds)} |\n| -- | --: |{' --: |' * len(kinds)}")
    for luck in LUCK:
        for noise in (0.0, 0.5):
            shares = [np.mean([is_false(luck, kind, noise, rng) for _ in range(replicates)]) for kind in kinds]
            print(f"| {luck} | {noise:g} | {' | '.join(f'{share:.3f}' for share in shares)} |", flush=True)


if __name__ == "__main__":
    main()
