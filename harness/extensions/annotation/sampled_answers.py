"""Which answers an annotator is shown, and in which order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from random import Random

from harness.core.errors import ConfigError
from harness.core.hashing import short_digest
from harness.core.records import Prediction
from harness.datasets.sampling import query_order
from harness.extensions.annotation.scales import asked_of
from harness.store import RunDir, SampleRow


@dataclass(frozen=True)
class ShownAnswer:
    """An answer to label. Only its run tells which system gave it."""

    run: RunDir
    row: SampleRow
    prediction: Prediction
    item_id: str
    """Its id on page and sheet, which reveals neither run nor query."""

    @property
    def query_id(self) -> str:
        return self.row.query.query_id


@dataclass(frozen=True)
class DrawnAnswers:
    """The sample of answers."""

    items: tuple[ShownAnswer, ...]
    """In the annotator's order."""
    n_queries: int
    """Queries that were drawn."""
    n_failed: int
    """Drawn (run, query) pairs without an answer to show."""
    n_unanswered: int
    """Those of them without a record yet."""


def draw_answers(runs: Sequence[RunDir], fraction: float, seed: int, annotator: str) -> DrawnAnswers:
    """A share of the queries of each run, stratified by query type (`query_order`): the same queries for all runs
    over the same ones and for every annotator; a larger share with the same seed adds to it.

    Each annotator sees all runs mixed, in a random order of their own. ConfigError: nothing to label.
    """
    items: list[ShownAnswer] = []
    drawn = failed = unanswered = 0
    for run in {run.path.resolve(): run for run in runs}.values():
        rows = {row.query.query_id: row for row in run.sample()}
        kept = _first_queries(list(rows.values()), fraction, seed)
        records, run_id = run.records(), run.manifest().run_id
        drawn += len(rows)
        for query_id in kept:
            record = records.get((query_id, 0))
            prediction = record.prediction if record else None
            if prediction is None or not asked_of(prediction):
                failed += 1
                unanswered += record is None
                continue
            items.append(ShownAnswer(run, rows[query_id], prediction, short_digest([run_id, query_id])))
    if not items:
        raise ConfigError("none of the answers drawn can be labelled", "name runs with answers: rag-harness run")
    items.sort(key=lambda one: one.item_id)
    Random(f"{seed}/{annotator}").shuffle(items)  # noqa: S311 - an order, not a secret
    return DrawnAnswers(tuple(items), drawn, failed, unanswered)


def by_item_id(items: Sequence[ShownAnswer]) -> Mapping[str, ShownAnswer]:
    """The same, by item id."""
    return {one.item_id: one for one in items}


def _first_queries(rows: Sequence[SampleRow], fraction: float, seed: int) -> list[str]:
    order = query_order((row.reference for row in rows), seed)
    return order[: max(1, ceil(fraction * len(order) - 1e-9))] if order else []
