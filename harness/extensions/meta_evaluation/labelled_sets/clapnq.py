"""ClapNQ as published with InspectorRAGet: 100 questions, answers of three models, three people each, scales of 1
to 4.

The fourth "system" in the file is the reference itself. It is left out, because metrics that read the reference
give it the best value by construction.
"""

from collections.abc import Mapping

from harness.datasets.local_files import read_json_object
from harness.datasets.row_fields import FileEntry
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

_FILE = "human_eval/inspectorraget_clapnq.json"
_REFERENCE = "target"
_MACHINE = "system"
_DIMENSIONS = {
    "faithfulness": "is the answer faithful to the passage",
    "answer_relevance": "is the answer relevant to the question",
    "fluency": "is the answer fluent",
}
_STORED = {"Bert-KPrec": "BERT knowledge precision", "RougeL": "ROUGE-L", "Recall": "word recall"}


def load() -> LabelledSet:
    """300 items of 100 questions, three dimensions; metrics are compared with the mean of three people."""
    whole = read_json_object(labelled_file(_FILE))
    tasks = {task.identifier("task_id"): task for task in whole.entries("tasks")}
    results = [one for one in whole.entries("results") if one.identifier("model_id") != _REFERENCE]
    gaps = MissingLabels()
    items = {_id(one): _item(one, tasks[one.identifier("task_id")]) for one in results if _known(one, tasks, gaps)}
    kept = [one for one in results if _id(one) in items]
    dimensions = tuple(_dimension(name, title, kept, gaps) for name, title in _DIMENSIONS.items())
    note = "the reference itself is left out: measures that read the reference would score it best"
    return LabelledSet("clapnq", "ClapNQ: graded answers", tuple(items.values()), dimensions, (note, *gaps.notes))


def _known(result: FileEntry, tasks: Mapping[str, FileEntry], gaps: MissingLabels) -> bool:
    known = result.identifier("task_id") in tasks
    if not known:
        gaps.count("answers whose question the file lacks")
    return known


def _id(result: FileEntry) -> str:
    return f"{result.identifier('task_id')}-{result.identifier('model_id')}"


def _item(result: FileEntry, task: FileEntry) -> Item:
    output, asked = result.entries("output"), task.entries("input")
    targets, contexts = task.entries("targets"), task.entries("contexts")
    return Item(
        item_id=_id(result),
        question_id=task.identifier("task_id"),
        query=asked[-1].text("text") if asked else "",
        answer=output[-1].text("content", blank=True) if output else "",
        reference=targets[0].text("value", blank=True) if targets else "",
        contexts=tuple(one.text("text") for one in contexts),
    )


def _dimension(name: str, title: str, results: list[FileEntry], gaps: MissingLabels) -> LabelledDimension:
    rows = []
    stored: dict[str, dict[str, float]] = {shown: {} for shown in _STORED.values()}
    for result in results:
        scores = result.entry("scores")
        given = scores.entry(name).fields if name in scores.fields else {}
        people = [given[person] for person in sorted(given) if person != _MACHINE]
        labels = [label_of(_value(one), 1, 4, f"{result.where}, {name}") for one in people]
        if None in labels or not labels:
            gaps.count(f"answers with a missing label of {name}")
        if said := tuple(label for label in labels if label is not None):
            rows.append(LabelledItems((_id(result),), result.identifier("task_id"), said))
        for metric, shown in _STORED.items():
            machine = scores.fields.get(metric)
            value = score_of(_value(machine.get(_MACHINE))) if isinstance(machine, Mapping) else None
            if value is not None:
                stored[shown][_id(result)] = value
    return LabelledDimension(name, title, tuple(rows), stored=stored)


def _value(annotation: object) -> object:
    return annotation.get("value") if isinstance(annotation, Mapping) else None
