"""Public sets of answers with human labels, each read from the data directory."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

from harness.core.errors import ConfigError, DataError, nearest
from harness.core.hashing import digest, short_digest
from harness.datasets.cell_values import parsed_cell
from harness.datasets.local_files import ENV, find, read_object, read_rows
from harness.datasets.row_fields import FIX, FileEntry

FEWEST = 10
"""Minimum number of questions for a correlation."""


@dataclass(frozen=True)
class Item:
    item_id: str
    question_id: str
    """Items of one question are not independent."""
    query: str
    answer: str | None
    """None: a passage without an answer."""
    reference: str = ""
    contexts: tuple[str, ...] = ()


class LabelledItems(NamedTuple):
    """Labels of one item, or of two: then a positive label prefers the second, like a metric whose score of the
    second is higher.
    """

    item_ids: tuple[str, ...]
    question_id: str
    labels: tuple[float, ...]
    """One per person, at least one."""


@dataclass
class LabelledDimension:
    """One question that people answered about items; filled while its file is read."""

    name: str
    title: str
    is_binary: bool = False
    """Labels are 0 or 1: the metric's AUC is computed too."""
    rows: list[LabelledItems] = field(default_factory=list)
    stored: dict[str, dict[str, float]] = field(default_factory=dict)
    """Scores that came with the set, shown beside ours: name -> item_id -> value."""
    n_incomplete: int = 0

    def add(self, item_ids: tuple[str, ...], question_id: str, given: Sequence[float | None]) -> None:
        """`given`: the labels of all people; None: a missing one."""
        labels = tuple(label for label in given if label is not None)
        self.n_incomplete += len(labels) < len(given) or not given
        if labels:
            self.rows.append(LabelledItems(item_ids, question_id, labels))

    def store(self, name: str, item_id: str, value: object) -> None:
        if (score := score_of(value)) is not None:
            self.stored.setdefault(name, {})[item_id] = score


@dataclass(frozen=True)
class LabelledSet:
    name: str
    title: str
    items: tuple[Item, ...]
    dimensions: tuple[LabelledDimension, ...]
    notes: tuple[str, ...] = ()

    @property
    def question_ids(self) -> list[str]:
        return list(dict.fromkeys(item.question_id for item in self.items))

    @property
    def digest(self) -> str:
        """Digest of what is scored, without labels."""
        said = [[one.item_id, one.query, one.answer, one.reference, list(one.contexts)] for one in self.items]
        return digest(said)

    def drawn(self, n: int | None, seed: int = 0) -> LabelledSet:
        """`n` of its questions with all their items, sampled with `seed`; raises ConfigError for fewer than 10,
        DataError if the set has fewer.
        """
        questions = self.question_ids
        if len(questions) < FEWEST:
            what = f"{self.name} has {len(questions)} labelled questions, and fewer than {FEWEST} say nothing"
            raise DataError(what, "replace the file by the complete one")
        if n is None or n >= len(questions):
            return self
        if n < FEWEST:
            why = f"a correlation over fewer than {FEWEST} questions is meaningless"
            raise ConfigError(f"-n {n}: {why}", f"take at least -n {FEWEST}")
        kept = set(random.Random(seed).sample(questions, n))  # noqa: S311 - a sample, no secret
        dimensions = (
            replace(one, rows=[row for row in one.rows if row.question_id in kept]) for one in self.dimensions
        )
        return replace(
            self,
            items=tuple(item for item in self.items if item.question_id in kept),
            dimensions=tuple(dimensions),
            notes=(*self.notes, f"{n} of {len(questions)} questions, drawn with seed {seed}"),
        )


def labelled_file(relative: str) -> Path:
    """Path of the file, compressed or not; raises DataError, one line, if it is missing."""
    if path := find(relative):
        return path
    what = f"the labelled set is not there: {relative} (or {relative}.gz)"
    raise DataError(what, f"put it into the data folder, and set {ENV} to that folder (docs/validity.md)")


def label_of(value: object, low: float, high: float, where: str) -> float | None:
    """A label within its scale, or None if it is missing; raises DataError, one line, for anything else."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    number = score_of(value)
    if number is None or not low <= number <= high:
        raise DataError(f"{where}: the label {str(value)[:40]!r} is not from {low:g} to {high:g}", FIX)
    return number


def score_of(value: object) -> float | None:
    try:
        number = math.nan if isinstance(value, bool) else float(str(value))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _made(
    name: str,
    title: str,
    items: Iterable[Item],
    dimensions: Sequence[LabelledDimension],
    notes: Sequence[str] = (),
    *,
    noun: str = "answers",
) -> LabelledSet:
    """The set, with a note on the labels that are missing. `noun`: what people labelled."""
    missing = [
        f"{one.n_incomplete:,} {noun} with a missing label of {one.name}" for one in dimensions if one.n_incomplete
    ]
    return LabelledSet(name, title, tuple(items), tuple(dimensions), (*notes, *missing))


_RAGCHECKER_SCORES = "human_eval/ragchecker_baseline_ragchecker.json"
_RAGCHECKER_DIMENSIONS = {
    "correctness": "which answer is more correct",
    "completeness": "which answer is more complete",
    "overall": "which answer is better",
}
_SIDES = ("model1", "model2")


def load_ragchecker() -> LabelledSet:
    """RAGChecker's meta-evaluation (Ru et al. 2024): 280 pairs of answers, three dimensions, two people.

    The file has a row for each person; labels are from -2 to 2, positive if the second answer is better. A file of
    the same shape has RAGChecker's own scores.
    """
    by_pair: dict[str, list[FileEntry]] = {}
    for row in read_rows(labelled_file("human_eval/ragchecker_human_labeled_data.json")):
        by_pair.setdefault(row.identifier("instance_id"), []).append(row)
    own = find(_RAGCHECKER_SCORES)
    scored = read_rows(own) if own else []
    dimensions = [LabelledDimension(name, title) for name, title in _RAGCHECKER_DIMENSIONS.items()]
    for one in dimensions:
        label = f"{one.name}_label"
        for pair, rows in by_pair.items():
            given = [label_of(row.fields.get(label), -2, 2, row.where) for row in rows]
            one.add(tuple(f"{pair}-{side}" for side in _SIDES), pair, given)
        for row, side in product(scored, _SIDES):
            value = row.entry(side).entry("ragchecker").fields.get(label)
            one.store("RAGChecker", f"{row.identifier('instance_id')}-{side}", value)
    items = (_ragchecker_item(pair, rows, side) for pair, rows in by_pair.items() for side in _SIDES)
    absent = [] if own else [f"{_RAGCHECKER_SCORES} is missing: RAGChecker's own scores are not shown"]
    return _made("ragchecker", "RAGChecker: pairs of answers", items, dimensions, absent, noun="pairs")


def _ragchecker_item(pair: str, rows: Sequence[FileEntry], side: str) -> Item:
    said = {
        (row.text("query"), row.text("gt_answer"), row.entry(side).text("response", blank=True)) for row in rows
    }
    if len(said) > 1:
        raise DataError(f"{rows[-1].where}: the people who compared pair {pair} were shown different texts", FIX)
    query, reference, answer = said.pop()
    return Item(f"{pair}-{side}", pair, query, answer, reference)


_CLAPNQ_MACHINE = "system"
"""The annotator of scores that no person gave."""
_CLAPNQ_DIMENSIONS = {
    "faithfulness": "is the answer faithful to the passage",
    "answer_relevance": "is the answer relevant to the question",
    "fluency": "is the answer fluent",
}
_CLAPNQ_METRICS = {"Bert-KPrec": "BERT knowledge precision", "RougeL": "ROUGE-L", "Recall": "word recall"}


def load_clapnq() -> LabelledSet:
    """ClapNQ as published with InspectorRAGet: 300 answers to 100 questions, three people each, scales of 1 to 4.

    The fourth "system" in the file is the reference itself. It is left out, because metrics that read the
    reference give it the best value by construction.
    """
    whole = read_object(labelled_file("human_eval/inspectorraget_clapnq.json"))
    tasks = {task.identifier("task_id"): task for task in whole.entries("tasks")}
    results = [one for one in whole.entries("results") if one.identifier("model_id") != "target"]
    dimensions = [LabelledDimension(name, title) for name, title in _CLAPNQ_DIMENSIONS.items()]
    items: dict[str, Item] = {}
    for result in results:
        if (task := tasks.get(result.identifier("task_id"))) is not None:
            item = _clapnq_item(result, task)
            items[item.item_id] = item
            for one in dimensions:
                _take_clapnq_labels(one, item, result)
    notes = ["the reference itself is left out: measures that read the reference would score it best"]
    if lost := sum(result.identifier("task_id") not in tasks for result in results):
        notes.append(f"{lost:,} answers whose question the file lacks")
    return _made("clapnq", "ClapNQ: graded answers", items.values(), dimensions, notes)


def _clapnq_item(result: FileEntry, task: FileEntry) -> Item:
    output, asked = result.entries("output"), task.entries("input")
    targets, contexts = task.entries("targets"), task.entries("contexts")
    question_id = task.identifier("task_id")
    return Item(
        item_id=f"{question_id}-{result.identifier('model_id')}",
        question_id=question_id,
        query=asked[-1].text("text") if asked else "",
        answer=output[-1].text("content", blank=True) if output else "",
        reference=targets[0].text("value", blank=True) if targets else "",
        contexts=tuple(one.text("text") for one in contexts),
    )


def _take_clapnq_labels(dimension: LabelledDimension, item: Item, result: FileEntry) -> None:
    scores, where = result.entry("scores"), f"{result.where}, {dimension.name}"
    given = scores.entry(dimension.name).fields if dimension.name in scores.fields else {}
    people = [given[person] for person in sorted(given) if person != _CLAPNQ_MACHINE]
    labels = [label_of(_clapnq_value(one), 1, 4, where) for one in people]
    dimension.add((item.item_id,), item.question_id, labels)
    for metric, shown in _CLAPNQ_METRICS.items():
        machine = scores.fields.get(metric)
        own = machine.get(_CLAPNQ_MACHINE) if isinstance(machine, Mapping) else None
        dimension.store(shown, item.item_id, _clapnq_value(own))


def _clapnq_value(annotation: object) -> object:
    return annotation.get("value") if isinstance(annotation, Mapping) else None


_NEURAL_BRIDGE_METRICS = {
    "answer_correctness": "RAGAS answer correctness",
    "context_relevancy": "RAGAS context relevancy",
}


def load_neural_bridge() -> LabelledSet:
    """100 answers over neural-bridge/rag-dataset-12000, each graded by one person from 1 to 5, higher is better.

    The file does not say what was graded; its grades correlate with correctness.
    """
    dimension, items = LabelledDimension("quality", "is the answer good"), []
    for row in read_rows(labelled_file("human_eval/neural_bridge_rag_human_eval_100.csv"), ","):
        item = row.identifier("qa_index")
        answer, truth = row.text("answer", blank=True), row.text("ground_truth", blank=True)
        items.append(Item(item, item, row.text("question"), answer, truth, _neural_bridge_contexts(row)))
        label = label_of(row.fields.get("Human label"), 1, 5, row.where)
        dimension.add((item,), item, [label])
        for column, shown in _NEURAL_BRIDGE_METRICS.items() if label is not None else ():
            dimension.store(shown, item, row.fields.get(column))
    return _made("neural_bridge", "neural-bridge: graded answers", items, [dimension])


def _neural_bridge_contexts(row: FileEntry) -> tuple[str, ...]:
    listed = parsed_cell(row.text("contexts"), row.where)
    if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
        raise DataError(f"{row.where}: field 'contexts' is no list of texts", FIX)
    return tuple(listed)


def load_hard_negatives() -> LabelledSet:
    """200 queries of MS MARCO, each with a relevant passage and a hard negative; no answers.

    Tests whether metrics of question and contexts distinguish them.
    """
    dimension, items = LabelledDimension("relevance", "is the passage relevant to the query", is_binary=True), []
    rows = read_rows(labelled_file("ms_marco/ms_marco_hard_neg_balanced.csv"), ",")
    for number, row in enumerate(rows, start=1):
        query = row.text("query").strip()
        question, item = short_digest(query), f"passage-{number}"
        label = label_of(row.fields.get("expected_score"), 0, 1, row.where)
        dimension.add((item,), question, [None if label is None else float(label >= 0.5)])
        if label is not None:
            items.append(Item(item, question, query, None, contexts=(row.text("expected_response"),)))
    return _made("ms_marco_hard", "MS MARCO: hard negatives", items, [dimension], noun="passages")


SETS: Mapping[str, Callable[[], LabelledSet]] = {
    "ragchecker": load_ragchecker,
    "clapnq": load_clapnq,
    "neural_bridge": load_neural_bridge,
    "ms_marco_hard": load_hard_negatives,
}
"""Name -> loader, which raises DataError, one line, if its file is missing or has other content."""


def load_set(name: str) -> LabelledSet:
    if name not in SETS:
        raise ConfigError(f"--set-name: no set is called '{name}'", nearest(name, SETS))
    return SETS[name]()
