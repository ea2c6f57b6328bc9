"""The session of one annotator: the questions about an answer, the sampled answers, and the page that asks.

The page shows no run, no system and no score.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from random import Random

from pydantic import Field

from harness.core.errors import ConfigError
from harness.core.hashing import short_digest
from harness.core.records import Annotation, Dimension, Prediction, Record
from harness.datasets.sampling import query_order
from harness.extensions.annotation.label_scales import SCALES, LabelScale, asked_of
from harness.extensions.web.pages import LocalPage, framed, parsed_body
from harness.store import RunDir, SampleRow
from harness.store.annotations import AnnotationLog, counting_annotations, opened_annotations, read_annotations

_ASSETS = Path(__file__).parent / "assets"


@dataclass(frozen=True)
class ShownAnswer:
    """An answer to label. Only its run tells which system gave it."""

    run: RunDir
    row: SampleRow
    prediction: Prediction
    item_id: str
    """Its id on page and sheet, which reveals neither run nor query."""
    asked: Sequence[LabelScale]

    @property
    def query_id(self) -> str:
        return self.row.query.query_id

    @property
    def place(self) -> tuple[str, str]:
        """Its run id and query id."""
        return self.run.manifest().run_id, self.query_id


@dataclass(frozen=True)
class DrawnAnswers:
    items: tuple[ShownAnswer, ...]
    """In the annotator's order."""
    n_queries: int
    """Queries of all runs."""
    n_failed: int
    """Drawn (run, query) pairs without an answer to show."""
    n_unanswered: int
    """Those of them without a record yet."""
    scales: Sequence[LabelScale]


def draw_answers(
    runs: Sequence[RunDir], fraction: float, seed: int, annotator: str, scales: Sequence[LabelScale] = SCALES
) -> DrawnAnswers:
    """A share of the queries of each run, stratified by query type (`query_order`): the same queries for all runs
    over the same ones and for every annotator; a larger share with the same seed adds to it.

    Each annotator sees all runs mixed, in a random order of their own. ConfigError: nothing to label.
    """
    items: list[ShownAnswer] = []
    drawn = failed = unanswered = 0
    for run in {run.path.resolve(): run for run in runs}.values():
        rows = {row.query.query_id: row for row in run.sample()}
        order = query_order((row.reference for row in rows.values()), seed)
        kept = order[: max(1, ceil(fraction * len(order) - 1e-9))]
        records, run_id = run.records(), run.manifest().run_id
        drawn += len(rows)
        for query_id in kept:
            record = records.get((query_id, 0))
            prediction = record.prediction if record else None
            if prediction and (asked := asked_of(prediction, scales)):
                item_id = short_digest([run_id, query_id])
                items.append(ShownAnswer(run, rows[query_id], prediction, item_id, asked))
            else:
                failed += 1
                unanswered += record is None
    if not items:
        raise ConfigError("none of the answers drawn can be labelled", "name runs with answers: rag-harness run")
    items.sort(key=lambda one: one.item_id)
    Random(f"{seed}/{annotator}").shuffle(items)  # noqa: S311 - an order, not a secret
    return DrawnAnswers(tuple(items), drawn, failed, unanswered, scales)


class LabellingSession:
    """The answers drawn for one annotator, with their labels, each saved at once."""

    def __init__(self, drawn: DrawnAnswers, annotator: str, logs: Mapping[str, AnnotationLog]) -> None:
        """`logs`: run id -> the log of its labels."""
        self.drawn, self.annotator, self._logs = drawn, annotator, logs
        self._by_id = {one.item_id: one for one in drawn.items}
        self._said: dict[tuple[str, str], dict[Dimension | None, Annotation]] = defaultdict(dict)
        for run in {one.run.path: one.run for one in drawn.items}.values():
            self._take([one for one in read_annotations(run) if one.annotator == annotator])

    def find(self, item_id: str) -> ShownAnswer:
        """ConfigError: the item was not drawn."""
        if item_id not in self._by_id:
            fix = "use the runs, --fraction and --seed with which the sheet was written"
            raise ConfigError(f"there is no item '{item_id[:40]}' here", fix)
        return self._by_id[item_id]

    def labels_of(self, item: ShownAnswer) -> Mapping[Dimension | None, Annotation]:
        """Its labels so far; under None the note."""
        found = self._said[item.place].values()
        return {one.dimension: one for one in counting_annotations(found)}

    def is_complete(self, item: ShownAnswer) -> bool:
        """Whether every question about it was answered, "cannot tell" included."""
        return {scale.dimension for scale in item.asked} <= self.labels_of(item).keys()

    @property
    def n_complete(self) -> int:
        return sum(map(self.is_complete, self.drawn.items))

    def label(
        self, item: ShownAnswer, dimension: Dimension, label: int | None, *, cannot_tell: bool = False
    ) -> Annotation:
        """The annotation to keep; without a label and `cannot_tell`, the earlier label is withdrawn.

        Raises ConfigError if this is not asked of this answer.
        """
        if dimension not in {scale.dimension for scale in item.asked}:
            raise ConfigError(f"{dimension} is not asked of this answer", "leave it empty")
        return self._annotation(item, dimension, label=label, cannot_tell=cannot_tell)

    def note(self, item: ShownAnswer, note: str) -> Annotation:
        return self._annotation(item, None, note=note)

    def keep(self, annotations: Sequence[Annotation]) -> None:
        """Save them to disk, and count them."""
        for run_id, log in self._logs.items():
            log.append([one for one in annotations if one.run == run_id])
        self._take(annotations)

    def _annotation(self, item: ShownAnswer, dimension: Dimension | None, **said: object) -> Annotation:
        run_id, query_id = item.place
        about = {"run": run_id, "query_id": query_id, "annotator": self.annotator, "dimension": dimension}
        return Annotation.model_validate({**about, "at": datetime.now(UTC).isoformat(timespec="seconds"), **said})

    def _take(self, annotations: Sequence[Annotation]) -> None:
        for one in annotations:
            self._said[one.run, one.query_id][one.dimension] = one


@contextmanager
def open_session(drawn: DrawnAnswers, annotator: str) -> Iterator[LabellingSession]:
    """The session, with an exclusive lock. StoreError: the annotator has another session open, or a damaged
    log.
    """
    runs = {one.run.manifest().run_id: one.run for one in drawn.items}
    with ExitStack() as stack:
        logs = {
            name: stack.enter_context(opened_annotations(run, annotator)) for name, run in sorted(runs.items())
        }
        yield LabellingSession(drawn, annotator, logs)


class SubmittedLabel(Record):
    id: str
    dimension: Dimension | None
    """None: `note` is about the whole answer."""
    label: int | None = Field(None, ge=0, le=5)
    """0: cannot tell; None: the label is withdrawn."""
    note: str = Field("", max_length=4_000)


def annotation_page(session: LabellingSession) -> LocalPage:
    """Every sampled item, by keys; labels are kept at once."""

    def say(body: bytes) -> object:
        said = parsed_body(SubmittedLabel, body)
        item = session.find(said.id)
        if said.dimension is None:
            session.keep([session.note(item, said.note.strip())])
        else:
            label = session.label(item, said.dimension, said.label or None, cannot_tell=said.label == 0)
            session.keep([label])
        return _whole(session, item)

    gets = {
        "/items": lambda _asked: [
            {"id": one.item_id, "complete": session.is_complete(one)} for one in session.drawn.items
        ],
        "/item": lambda asked: _whole(session, session.find(asked.get("id", ""))),
    }
    return framed("Labels of answers", _ASSETS, "annotate", gets, {"/say": say})


def _whole(session: LabellingSession, item: ShownAnswer) -> dict[str, object]:
    said = session.labels_of(item)
    note = said.get(None)
    scales = []
    for scale in item.asked:
        one = said.get(scale.dimension)
        given = {"label": one and one.label, "cannot_tell": one is not None and one.cannot_tell}
        scales.append({**asdict(scale), **given})
    return {
        "id": item.item_id,
        "question": item.row.query.text,
        "reference": list(item.row.reference.answers),
        "answer": item.prediction.answer,
        "contexts": [context.text for context in item.prediction.contexts],
        "note": note.note if note else "",
        "complete": session.is_complete(item),
        "scales": scales,
    }
