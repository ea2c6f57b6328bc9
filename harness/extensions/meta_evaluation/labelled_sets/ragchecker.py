"""RAGChecker's meta-evaluation (Ru et al. 2024): 280 pairs of answers, each compared by two people.

The file has a row for each person; labels are from -2 to 2, positive if the second answer is better. A file of the
same shape has RAGChecker's own scores.
"""

from collections.abc import Sequence

from harness.core.errors import DataError
from harness.datasets.local_files import find, read_json_rows
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

_LABELS = "human_eval/ragchecker_human_labeled_data.json"
_OWN = "human_eval/ragchecker_baseline_ragchecker.json"
_DIMENSIONS = {
    "correctness": "which answer is more correct",
    "completeness": "which answer is more complete",
    "overall": "which answer is better",
}
_SIDES = ("model1", "model2")


def load() -> LabelledSet:
    """280 pairs: 560 items, three dimensions."""
    by_pair: dict[str, list[FileEntry]] = {}
    for row in read_json_rows(labelled_file(_LABELS)):
        by_pair.setdefault(row.identifier("instance_id"), []).append(row)
    gaps = MissingLabels()
    own = find(_OWN)
    stored = _stored(read_json_rows(own)) if own else {}
    dimensions = tuple(
        LabelledDimension(name, title, tuple(_labelled(name, by_pair, gaps)), stored=stored.get(name, {}))
        for name, title in _DIMENSIONS.items()
    )
    items = tuple(_item(pair, rows, side) for pair, rows in by_pair.items() for side in _SIDES)
    absent = () if own else (f"{_OWN} is missing: RAGChecker's own scores are not shown",)
    return LabelledSet("ragchecker", "RAGChecker: pairs of answers", items, dimensions, (*gaps.notes, *absent))


def _item(pair: str, rows: Sequence[FileEntry], side: str) -> Item:
    said = {(row.text("query"), row.text("gt_answer"), _response(row, side)) for row in rows}
    if len(said) > 1:
        raise DataError(f"{rows[-1].where}: the people who compared pair {pair} were shown different texts", FIX)
    query, reference, answer = said.pop()
    return Item(f"{pair}-{side}", pair, query, answer, reference)


def _response(row: FileEntry, side: str) -> str:
    return row.entry(side).text("response", blank=True)


def _labelled(name: str, by_pair: dict[str, list[FileEntry]], gaps: MissingLabels) -> list[LabelledItems]:
    found = []
    for pair, rows in by_pair.items():
        given = [label_of(row.fields.get(f"{name}_label"), -2, 2, row.where) for row in rows]
        labels = tuple(label for label in given if label is not None)
        if len(labels) < len(given):
            gaps.count(f"pairs with a missing label of {name}")
        if labels:
            found.append(LabelledItems(tuple(f"{pair}-{side}" for side in _SIDES), pair, labels))
    return found


def _stored(rows: Sequence[FileEntry]) -> dict[str, dict[str, dict[str, float]]]:
    """Dimension -> name -> item -> RAGChecker's own score."""
    found: dict[str, dict[str, dict[str, float]]] = {name: {"RAGChecker": {}} for name in _DIMENSIONS}
    for row in rows:
        for side in _SIDES:
            scores = row.entry(side).entry("ragchecker").fields
            for name in _DIMENSIONS:
                value = score_of(scores.get(f"{name}_label"))
                if value is not None:
                    found[name]["RAGChecker"][f"{row.identifier('instance_id')}-{side}"] = value
    return found
