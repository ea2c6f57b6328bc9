"""100 answers over neural-bridge/rag-dataset-12000, each graded by one person from 1 to 5, higher is better.

The file does not say what was graded; its grades correlate with correctness. Its contexts are the text of a Python
list.
"""

import ast

from harness.core.errors import DataError
from harness.datasets.local_files import read_csv
from harness.datasets.row_fields import FIX, FileEntry
from harness.extensions.meta_evaluation.labelled_sets.label_files import (
    MissingLabels,
    label_of,
    labelled_file,
    score_of,
)
from harness.extensions.meta_evaluation.labelled_sets.types import (
    Item,
    LabelledDimension,
    LabelledItems,
    LabelledSet,
)

_FILE = "human_eval/neural_bridge_rag_human_eval_100.csv"
_STORED = {"answer_correctness": "RAGAS answer correctness", "context_relevancy": "RAGAS context relevancy"}


def load() -> LabelledSet:
    """100 items, one dimension, one person: the agreement of people is unknown."""
    rows = read_csv(labelled_file(_FILE), ",")
    gaps = MissingLabels()
    labelled = []
    stored: dict[str, dict[str, float]] = {shown: {} for shown in _STORED.values()}
    for row in rows:
        item = row.identifier("qa_index")
        label = label_of(row.fields.get("Human label"), 1, 5, row.where)
        if label is None:
            gaps.count("answers without a label")
            continue
        labelled.append(LabelledItems((item,), item, (label,)))
        for column, shown in _STORED.items():
            value = score_of(row.fields.get(column))
            if value is not None:
                stored[shown][item] = value
    dimension = LabelledDimension("quality", "is the answer good", tuple(labelled), stored=stored)
    items = tuple(_item(row) for row in rows)
    return LabelledSet("neural_bridge", "neural-bridge: graded answers", items, (dimension,), gaps.notes)


def _item(row: FileEntry) -> Item:
    item = row.identifier("qa_index")
    answer, reference = row.text("answer", blank=True), row.text("ground_truth", blank=True)
    return Item(item, item, row.text("question"), answer, reference, _contexts(row))


def _contexts(row: FileEntry) -> tuple[str, ...]:
    try:
        listed = ast.literal_eval(row.text("contexts"))
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise DataError(f"{row.where}: field 'contexts' is no list of texts", FIX) from error
    if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
        raise DataError(f"{row.where}: field 'contexts' is no list of texts", FIX)
    return tuple(listed)
