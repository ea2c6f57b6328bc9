"""Which metric without a judge approximates faithfulness? Every candidate on ClapNQ's human labels.

Reads the values of a card of `rag-harness validate --set-name clapnq` (RESULTS/validity/clapnq) and the answers of
the set. Faithful means a mean label of 3 or more of 4. "Spearman given length" controls for the number of words:
short answers are more often faithful, and a metric that only counts words must not look good.

Examples:
  rag-harness validate --set-name clapnq -e support,kg_nlp,novel_tokens,cosine
  .venv/bin/python scripts/research/check_support.py results/validity/clapnq
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from common import command_line, print_table, started
from numpy.typing import NDArray
from scipy.stats import pearsonr, rankdata, spearmanr

from harness.extensions.meta_evaluation.card_output import read_values
from harness.extensions.meta_evaluation.labelled_sets import load_clapnq

FAITHFUL = 3.0
HEADER = ("metric", "n", "Pearson", "Spearman", "Spearman given length", "AUC")
CANDIDATES = ("support_", "novel_token_precision", "cosine_answer_contexts", "kg_nlp_")
Numbers = NDArray[np.float64]


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("card", type=Path, help="the folder of a card of clapnq")
    chosen = parser.parse_args()
    rows = [row for row in read_values(chosen.card).of("faithfulness") if len(row.labels)]
    words = {item.item_id: len((item.answer or "").split()) for item in load_clapnq().items}
    found = []
    for name in sorted({name for row in rows for name in row.scores}):
        if name.startswith(CANDIDATES) and ("_nlp_" not in name or name.endswith("_faithfulness")):
            known = [row for row in rows if name in row.scores]
            scores = np.array([row.scores[name] for row in known], dtype=np.float64)
            labels = np.array([np.mean(row.labels) for row in known])
            length = np.array([words[row.row_id] for row in known], dtype=np.float64)
            if len(known) > 2 and np.ptp(scores):
                found.append((name, len(known), *figures(scores, labels, length)))
    print_table(
        HEADER, ((name, str(n), *(f"{one:.3f}" for one in own)) for name, n, *own in sorted(found, key=last))
    )


def last(row: tuple[object, ...]) -> float:
    return -float(str(row[-1]))


def figures(scores: Numbers, labels: Numbers, length: Numbers) -> tuple[float, float, float, float]:
    """Pearson, Spearman, Spearman given the length, and AUC."""
    ranks = [rankdata(one) for one in (scores, labels)]
    given = np.column_stack([np.ones(len(length)), rankdata(length)])
    left = [one - given @ np.linalg.lstsq(given, one, rcond=None)[0] for one in ranks]
    faithful = labels >= FAITHFUL
    n = int(faithful.sum())
    auc = (ranks[0][faithful].sum() - n * (n + 1) / 2) / (n * (len(labels) - n))
    return (
        float(pearsonr(scores, labels)[0]),
        float(spearmanr(scores, labels)[0]),
        float(np.corrcoef(*left)[0, 1]),
        float(auc),
    )


if __name__ == "__main__":
    started(main)
