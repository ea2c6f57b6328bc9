"""Does a combination of measures, fitted on human labels, correlate better with people than the best measure?

It reads only the values of a card of `rag-harness validate --set-name ragchecker` (RESULTS/validity/ragchecker).
Questions are divided into two halves by the digest of their id. On the first half every measure is ranked, and
ridge regressions of up to --most measures are fitted, standardised and without an intercept, since a reversed pair
has the opposite label; measures and penalty are selected by five-fold cross-validation within that half. The
second half is used once: for the best single measure, the fit, and the scores that came with the set.

Then the whole procedure, including the selection, is repeated within a ten-fold cross-validation by question, so
that every pair is predicted by a fit that has not seen it. Pearson's r is with one person at a time, as RAGChecker
publishes it; intervals are the card's. Pairs without a score of one measure count as its worst value (as in 'all
rows').

Examples:
  rag-harness validate && .venv/bin/python scripts/research/check_novel_tokens.py results/validity/ragchecker
  .venv/bin/python scripts/research/check_novel_tokens.py results/validity/ragchecker --dimension completeness
"""

import argparse
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from common import command_line, print_table, started
from numpy.typing import NDArray

from harness.core.errors import DataError
from harness.display import Quantity, format_value
from harness.extensions.meta_evaluation.card_output import read_values
from harness.extensions.meta_evaluation.validity_card import LabelledRow, agreement

PENALTIES = (0.01, 0.1, 1.0)
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Pairs:
    """Labelled pairs, a row each, and the measures that score them."""

    names: tuple[str, ...]
    scores: Numbers
    labels: tuple[tuple[float, ...], ...]
    questions: tuple[str, ...]

    def correlation(self, column: Numbers, rows: Sequence[int]) -> float:
        """Pearson's with one person at a time, over those rows."""
        said = [(column[row], label) for row in rows for label in self.labels[row]]
        x, y = np.array(said).T
        return float(np.corrcoef(x, y)[0, 1]) if x.std() and y.std() else 0.0

    def shown(self, column: Numbers, rows: Sequence[int]) -> str:
        """The same with its interval."""
        each = [(column[row], label, self.questions[row]) for row in rows for label in self.labels[row]]
        found = agreement(each).pearson
        return format_value(Quantity(found.value, *found.interval))

    def means(self, rows: Sequence[int]) -> Numbers:
        return np.array([np.mean(self.labels[row]) for row in rows])


_FOLDS = 10


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("card", type=Path, help="the folder of the card")
    parser.add_argument("--dimension", default="overall")
    parser.add_argument("--most", type=int, default=3, help="measures per fit")
    parser.add_argument("--from-best", type=int, default=8, help="candidates: this many best single measures")
    arguments = parser.parse_args()
    values = read_values(arguments.card)
    rows = values.of(arguments.dimension)
    if len(rows) < 40:
        raise DataError(f"{arguments.card} has {len(rows)} rows of '{arguments.dimension}'", "40 can be divided")
    named = ([one.name for one in values.measures if bool(one.evaluator) == ours] for ours in (True, False))
    pairs, others = (pairs_of(rows, names) for names in named)
    order = sorted(range(len(rows)), key=lambda row: hashlib.sha256(pairs.questions[row].encode()).digest())
    first, second = order[: len(order) // 2], order[len(order) // 2 :]
    report(pairs, others, (first, second), arguments)


def report(
    pairs: Pairs, others: Pairs, halves: tuple[Sequence[int], Sequence[int]], arguments: argparse.Namespace
) -> None:
    first, second = halves
    best = ranked(pairs, first)[0]
    columns, penalty = chosen(pairs, first, arguments)
    weights = fitted(pairs.scores[np.ix_(first, columns)], pairs.means(first), penalty)
    crossed = cross_fitted(pairs, arguments)
    whole = range(len(pairs.labels))
    parts = (first, second, whole)
    fit = pairs.scores[:, columns] @ weights
    named = ", ".join(pairs.names[one] for one in columns)
    rows = [
        [f"best alone: {pairs.names[best]}", *(pairs.shown(pairs.scores[:, best], part) for part in parts)],
        [f"fit: {named}", *(pairs.shown(fit, part) for part in halves), ""],
        ["the whole procedure, cross-fitted", "", "", pairs.shown(crossed, whole)],
    ]
    for place, name in enumerate(others.names):
        rows.append([f"came with the set: {name}", *(others.shown(others.scores[:, place], one) for one in parts)])
    print_table(["", "first half (chosen there)", "second half", "all"], rows)
    print("weights:", ", ".join(f"{pairs.names[c]} {w:.4f}" for c, w in zip(columns, weights, strict=True)))


def pairs_of(rows: Sequence[LabelledRow], names: Iterable[str]) -> Pairs:
    """The varying measures that have a value, or a worst value, for every row."""
    columns = {name: [row.scores.get(name, row.filled.get(name, np.nan)) for row in rows] for name in names}
    whole = {name: column for name, column in columns.items() if np.isfinite(column).all() and np.std(column) > 0}
    labels, questions = tuple(row.labels for row in rows), tuple(row.question_id for row in rows)
    return Pairs(tuple(whole), np.array(list(whole.values())).T, labels, questions)


def ranked(pairs: Pairs, rows: Sequence[int]) -> list[int]:
    strength = [abs(pairs.correlation(pairs.scores[:, place], rows)) for place in range(len(pairs.names))]
    return sorted(range(len(strength)), key=lambda place: -strength[place])


def chosen(pairs: Pairs, rows: Sequence[int], arguments: argparse.Namespace) -> tuple[list[int], float]:
    """The measures and the penalty that predict best within those rows."""
    pool = ranked(pairs, rows)[: arguments.from_best]
    sets = [list(some) for size in range(1, arguments.most + 1) for some in combinations(pool, size)]
    tries = [(inner(pairs, rows, columns, penalty), columns, penalty) for columns in sets for penalty in PENALTIES]
    _, columns, penalty = max(tries, key=lambda one: one[0])
    return columns, penalty


def inner(pairs: Pairs, rows: Sequence[int], columns: list[int], penalty: float) -> float:
    predicted = np.zeros(len(pairs.labels))
    for fold in range(5):
        left = [row for place, row in enumerate(rows) if place % 5 != fold]
        out = [row for place, row in enumerate(rows) if place % 5 == fold]
        weights = fitted(pairs.scores[np.ix_(left, columns)], pairs.means(left), penalty)
        predicted[out] = pairs.scores[np.ix_(out, columns)] @ weights
    return pairs.correlation(predicted, rows)


def cross_fitted(pairs: Pairs, arguments: argparse.Namespace) -> Numbers:
    order = np.random.default_rng(0).permutation(len(pairs.labels))
    predicted = np.zeros(len(order))
    for fold in range(_FOLDS):
        left, out = [list(map(int, part)) for part in (np.delete(order, np.s_[fold::_FOLDS]), order[fold::_FOLDS])]
        columns, penalty = chosen(pairs, left, arguments)
        weights = fitted(pairs.scores[np.ix_(left, columns)], pairs.means(left), penalty)
        predicted[out] = pairs.scores[np.ix_(out, columns)] @ weights
    return predicted


def fitted(scores: Numbers, means: Numbers, penalty: float) -> Numbers:
    """Ridge weights of standardised columns, in the columns' own units."""
    scale = scores.std(axis=0) + 1e-12
    units = scores / scale
    found: Numbers = np.linalg.solve(units.T @ units + penalty * len(means) * np.eye(len(scale)), units.T @ means)
    return found / scale


if __name__ == "__main__":
    started(main)
