"""200 queries of MS MARCO, each with a relevant passage and a hard negative; no answers.

Tests whether metrics of question and contexts distinguish them.
"""

from harness.core.hashing import short_digest
from harness.datasets.local_files import read_csv
from harness.extensions.meta_evaluation.labelled_sets.label_files import MissingLabels, label_of, labelled_file
from harness.extensions.meta_evaluation.labelled_sets.types import (
    Item,
    LabelledDimension,
    LabelledItems,
    LabelledSet,
)

_FILE = "ms_marco/ms_marco_hard_neg_balanced.csv"


def load() -> LabelledSet:
    """400 items of 200 questions, one dimension of 0 and 1."""
    gaps = MissingLabels()
    items, labelled = [], []
    for number, row in enumerate(read_csv(labelled_file(_FILE), ","), start=1):
        query = row.text("query").strip()
        question, item = short_digest(query), f"passage-{number}"
        label = label_of(row.fields.get("expected_score"), 0, 1, row.where)
        if label is None:
            gaps.count("passages without a label")
            continue
        items.append(Item(item, question, query, None, contexts=(row.text("expected_response"),)))
        labelled.append(LabelledItems((item,), question, (float(label >= 0.5),)))
    dimension = LabelledDimension(
        "relevance", "is the passage relevant to the query", tuple(labelled), is_binary=True
    )
    return LabelledSet("ms_marco_hard", "MS MARCO: hard negatives", tuple(items), (dimension,), gaps.notes)
