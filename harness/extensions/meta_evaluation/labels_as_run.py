"""A set of labelled answers as a run directory, so that evaluators score it like any other answers."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from harness.core.hashing import short_digest
from harness.core.records import Context, Cost, Prediction, Query, Reference, RunRecord, Usage
from harness.extensions.meta_evaluation.labelled_set import Item, LabelledSet
from harness.runner.machine_info import git_commit
from harness.runner.plan import IDENTITY_SCHEMA
from harness.store import SCHEMA_VERSION, Done, Manifest, RunDir, SampleRow

_LABEL = "labelled"


def run_of(human: LabelledSet, results: Path, tell: Callable[[str], None]) -> RunDir:
    """The run with one query per item of the set; an existing one is continued.

    Damage is repaired and reported in a line.
    """
    manifest = _manifest(human)
    run = RunDir.create(results, manifest, [_row(item) for item in human.items], tell)
    with run.exclusive():
        for line in run.mend():
            tell(line)
        if run.done():
            return run
        there = run.latest_attempts()
        for item in human.items:
            if (item.item_id, 0) not in there:
                run.append_record(_record(item, manifest.created_at))
        n = len(human.items)
        run.mark_done(Done(n_expected=n, n_ok=n, n_error=0, finished_at=datetime.now(UTC).isoformat()))
    return run


def _manifest(human: LabelledSet) -> Manifest:
    name = human.name.replace("_", "-")
    identity = {
        "schema": IDENTITY_SCHEMA,
        "dataset": {"name": human.name, "subset": "", "digest": human.digest},
        "system": {"name": _LABEL, "version": "imported", "index": {}, "answer": {}},
        "models": {"generator": {"provider": "imported", "model": _LABEL}},
        "seed": 0,
        "repeats": 1,
        "limits": {},
        "imported": {"labelled": human.digest},
    }
    described = {
        "name": human.name,
        "subset": "",
        "digest": human.digest,
        "n_queries": len(human.items),
        "n_documents": 0,
        "type_mix": {human.name: len(human.items)},
        "title": human.title,
        "notes": list(human.notes),
    }
    return Manifest(
        schema_version=SCHEMA_VERSION,
        run_id=f"{name}--{_LABEL}--{short_digest(identity)}",
        identity=identity,
        config={"dataset": {"name": human.name}},
        dataset=described,
        index_id="",
        notes=("Answers of a public set that people labelled: each of its queries is one of them.",),
        machine={},
        packages={},
        git_commit=git_commit(),
        created_at=datetime.now(UTC).isoformat(),
    )


def _row(item: Item) -> SampleRow:
    answers = (item.reference,) if item.reference.strip() else ()
    reference = Reference(query_id=item.item_id, query_type=_LABEL, answers=answers)
    return SampleRow(query=Query(query_id=item.item_id, text=item.query), reference=reference)


def _record(item: Item, started_at: str) -> RunRecord:
    contexts = tuple(Context(text=text, doc_ids=()) for text in item.contexts)
    return RunRecord(
        query_id=item.item_id,
        repeat=0,
        status="ok",
        prediction=Prediction(answer=item.answer, contexts=contexts),
        cost=Cost(wall_s=None, throttled_s=None, usage={"generator": Usage(unmetered_calls=1)}),
        attempt=1,
        started_at=started_at,
    )
