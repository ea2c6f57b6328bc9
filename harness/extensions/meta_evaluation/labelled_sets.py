"""Public sets of answers with human labels, each read from the data directory."""

from __future__ import annotations

import ast
import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from harness.core.errors import ConfigError, DataError, nearest
from harness.core.hashing import digest, short_digest
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


@dataclass(frozen=True)
class LabelledDimension:
    name: str
    title: str
    rows: tuple[LabelledItems, ...]
    is_binary: bool = False
    """Labels are 0 or 1: the metric's AUC is computed too."""
    stored: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Scores that came with the set, shown beside ours: name -> item_id -> value."""


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
            replace(one, rows=tuple(row for row in one.rows if row.question_id in kept)) for one in self.dimensions
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


def _notes(gaps: Counter[str]) -> tuple[str, ...]:
    return tuple(f"{n:,} {what}" for what, n in sorted(gaps.items()) if n)


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
    gaps = Counter[str]()
    own = find(_RAGCHECKER_SCORES)
    scored = read_rows(own) if own else []
    dimensions = []
    for name, title in _RAGCHECKER_DIMENSIONS.items():
        labelled = []
        for pair, rows in by_pair.items():
            given = [label_of(row.fields.get(f"{name}_label"), -2, 2, row.where) for row in rows]
            labels = tuple(label for label in given if label is not None)
            gaps[f"pairs with a missing label of {name}"] += len(labels) < len(given)
            if labels:
                labelled.append(LabelledItems(tuple(f"{pair}-{side}" for side in _SIDES), pair, labels))
        scores = {
            f"{row.identifier('instance_id')}-{side}": value
            for row in scored
            for side in _SIDES
            if (value := score_of(row.entry(side).entry("ragchecker").fields.get(f"{name}_label"))) is not None
        }
        stored = {"RAGChecker": scores} if own else {}
        dimensions.append(LabelledDimension(name, title, tuple(labelled), stored=stored))
    items = tuple(_ragchecker_item(pair, rows, side) for pair, rows in by_pair.items() for side in _SIDES)
    absent = () if own else (f"{_RAGCHECKER_SCORES} is missing: RAGChecker's own scores are not shown",)
    notes = (*_notes(gaps), *absent)
    return LabelledSet("ragchecker", "RAGChecker: pairs of answers", items, tuple(dimensions), notes)


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
    gaps = Counter[str]()
    kept = [one for one in results if one.identifier("task_id") in tasks]
    gaps["answers whose question the file lacks"] += len(results) - len(kept)
    items = {_clapnq_id(one): _clapnq_item(one, tasks[one.identifier("task_id")]) for one in kept}
    dimensions = tuple(_clapnq_dimension(name, title, kept, gaps) for name, title in _CLAPNQ_DIMENSIONS.items())
    note = "the reference itself is left out: measures that read the reference would score it best"
    return LabelledSet(
        "clapnq", "ClapNQ: graded answers", tuple(items.values()), dimensions, (note, *_notes(gaps))
    )


def _clapnq_id(result: FileEntry) -> str:
    return f"{result.identifier('task_id')}-{result.identifier('model_id')}"


def _clapnq_item(result: FileEntry, task: FileEntry) -> Item:
    output, asked = result.entries("output"), task.entries("input")
    targets, contexts = task.entries("targets"), task.entries("contexts")
    return Item(
        item_id=_clapnq_id(result),
        question_id=task.identifier("task_id"),
        query=asked[-1].text("text") if asked else "",
        answer=output[-1].text("content", blank=True) if output else "",
        reference=targets[0].text("value", blank=True) if targets else "",
        contexts=tuple(one.text("text") for one in contexts),
    )


def _clapnq_dimension(name: str, title: str, results: list[FileEntry], gaps: Counter[str]) -> LabelledDimension:
    rows = []
    stored: dict[str, dict[str, float]] = {shown: {} for shown in _CLAPNQ_METRICS.values()}
    for result in results:
        scores = result.entry("scores")
        given = scores.entry(name).fields if name in scores.fields else {}
        people = [given[person] for person in sorted(given) if person != _CLAPNQ_MACHINE]
        labels = [label_of(_clapnq_value(one), 1, 4, f"{result.where}, {name}") for one in people]
        gaps[f"answers with a missing label of {name}"] += None in labels or not labels
        if said := tuple(label for label in labels if label is not None):
            rows.append(LabelledItems((_clapnq_id(result),), result.identifier("task_id"), said))
        for metric, shown in _CLAPNQ_METRICS.items():
            machine = scores.fields.get(metric)
            value = score_of(_clapnq_value(machine.get(_CLAPNQ_MACHINE))) if isinstance(machine, Mapping) else None
            if value is not None:
                stored[shown][_clapnq_id(result)] = value
    return LabelledDimension(name, title, tuple(rows), stored=stored)


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
    gaps = Counter[str]()
    labelled, items = [], []
    stored: dict[str, dict[str, float]] = {shown: {} for shown in _NEURAL_BRIDGE_METRICS.values()}
    for row in read_rows(labelled_file("human_eval/neural_bridge_rag_human_eval_100.csv"), ","):
        item = row.identifier("qa_index")
        answer, truth = row.text("answer", blank=True), row.text("ground_truth", blank=True)
        items.append(Item(item, item, row.text("question"), answer, truth, _neural_bridge_contexts(row)))
        label = label_of(row.fields.get("Human label"), 1, 5, row.where)
        if label is None:
            gaps["answers without a label"] += 1
            continue
        labelled.append(LabelledItems((item,), item, (label,)))
        for column, shown in _NEURAL_BRIDGE_METRICS.items():
            if (value := score_of(row.fields.get(column))) is not None:
                stored[shown][item] = value
    dimension = LabelledDimension("quality", "is the answer good", tuple(labelled), stored=stored)
    title = "neural-bridge: graded answers"
    return LabelledSet("neural_bridge", title, tuple(items), (dimension,), _notes(gaps))


def _neural_bridge_contexts(row: FileEntry) -> tuple[str, ...]:
    try:
        listed = ast.literal_eval(row.text("contexts"))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        listed = None
    if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
        raise DataError(f"{row.where}: field 'contexts' is no list of texts", FIX)
    return tuple(listed)


def load_hard_negatives() -> LabelledSet:
    """200 queries of MS MARCO, each with a relevant passage and a hard negative; no answers.

    Tests whether metrics of question and contexts distinguish them.
    """
    gaps = Counter[str]()
    items, labelled = [], []
    rows = read_rows(labelled_file("ms_marco/ms_marco_hard_neg_balanced.csv"), ",")
    for number, row in enumerate(rows, start=1):
        query = row.text("query").strip()
        question, item = short_digest(query), f"passage-{number}"
        label = label_of(row.fields.get("expected_score"), 0, 1, row.where)
        if label is None:
            gaps["passages without a label"] += 1
            continue
        items.append(Item(item, question, query, None, contexts=(row.text("expected_response"),)))
        labelled.append(LabelledItems((item,), question, (float(label >= 0.5),)))
    asked = "is the passage relevant to the query"
    dimension = LabelledDimension("relevance", asked, tuple(labelled), is_binary=True)
    return LabelledSet("ms_marco_hard", "MS MARCO: hard negatives", tuple(items), (dimension,), _notes(gaps))


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
