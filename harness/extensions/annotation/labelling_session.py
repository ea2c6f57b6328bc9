"""The session of one annotator: earlier labels and new ones."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime

from harness.core.errors import ConfigError
from harness.core.records import Annotation, Dimension
from harness.extensions.annotation.sampled_answers import DrawnAnswers, ShownAnswer, by_item_id
from harness.extensions.annotation.scales import asked_of
from harness.store.annotations import AnnotationLog, counting_annotations, opened_annotations, read_annotations

LabelPlace = tuple[str, str]
"""(run id, query id)."""


class LabellingSession:
    """The answers drawn for one annotator, with their labels, each saved at once."""

    def __init__(self, drawn: DrawnAnswers, annotator: str, logs: Mapping[str, AnnotationLog]) -> None:
        """`logs`: run id -> the log of its labels."""
        self.drawn, self.annotator, self._logs = drawn, annotator, logs
        self._by_id = by_item_id(drawn.items)
        self._said: dict[LabelPlace, dict[Dimension | None, Annotation]] = defaultdict(dict)
        for run in {one.run.path: one.run for one in drawn.items}.values():
            self._take([one for one in read_annotations(run) if one.annotator == annotator])

    def find(self, item_id: str) -> ShownAnswer:
        """ConfigError: the item was not drawn."""
        if item_id not in self._by_id:
            raise ConfigError(
                f"there is no item '{item_id[:40]}' here",
                "use the runs, --fraction and --seed with which the sheet was written",
            )
        return self._by_id[item_id]

    def labels_of(self, item: ShownAnswer) -> Mapping[Dimension | None, Annotation]:
        """Its labels so far; under None the note."""
        found = self._said[_place(item)].values()
        return {one.dimension: one for one in counting_annotations(found)}

    def is_complete(self, item: ShownAnswer) -> bool:
        """Whether every question about it was answered, "cannot tell" included."""
        return {scale.dimension for scale in asked_of(item.prediction)} <= self.labels_of(item).keys()

    @property
    def n_complete(self) -> int:
        """Number of items that are fully labelled."""
        return sum(map(self.is_complete, self.drawn.items))

    def label(
        self, item: ShownAnswer, dimension: Dimension, label: int | None, *, cannot_tell: bool
    ) -> Annotation:
        """The annotation to keep; without a label and `cannot_tell`, the earlier label is withdrawn.

        Raises ConfigError if this is not asked of this answer.
        """
        if dimension not in {scale.dimension for scale in asked_of(item.prediction)}:
            raise ConfigError(f"{dimension} is not asked of this answer", "leave it empty")
        return self._annotation(item, dimension, label=label, cannot_tell=cannot_tell)

    def note(self, item: ShownAnswer, note: str) -> Annotation:
        """The annotation of a note, in the same way."""
        return self._annotation(item, None, note=note)

    def keep(self, annotations: Sequence[Annotation]) -> None:
        """Save them to disk, and count them."""
        for run_id, log in self._logs.items():
            log.append([one for one in annotations if one.run == run_id])
        self._take(annotations)

    def _annotation(self, item: ShownAnswer, dimension: Dimension | None, **said: object) -> Annotation:
        run_id, query_id = _place(item)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        fields = {
            "run": run_id,
            "query_id": query_id,
            "annotator": self.annotator,
            "dimension": dimension,
            "at": now,
        }
        return Annotation.model_validate({**fields, **said})

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


def _place(item: ShownAnswer) -> LabelPlace:
    return item.run.manifest().run_id, item.query_id
