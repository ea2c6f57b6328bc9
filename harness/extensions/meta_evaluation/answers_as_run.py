"""Answers that no system gives here as a run directory, so that evaluators score them like any other answers."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.core.hashing import short_digest
from harness.core.records import Cost, Prediction, RunRecord, Usage
from harness.runner.plan import IDENTITY_SCHEMA
from harness.store import SCHEMA_VERSION, Done, Manifest, RunDir, SampleRow


def answers_as_run(
    folder: Path,
    stem: str,
    answers: Sequence[tuple[SampleRow, Prediction]],
    *,
    identity: Mapping[str, Any],
    config: Mapping[str, Any],
    dataset: Mapping[str, Any],
    note: str,
    git_commit: str = "",
    usage: Mapping[str, Usage] | None = None,
    tell: Callable[[str], None] = lambda _line: None,
) -> RunDir:
    """The run `stem`--digest in `folder`; an existing one is continued. Damage is repaired and told in a line."""
    whole = {"schema": IDENTITY_SCHEMA, **identity, "repeats": 1, "limits": {}}
    started_at = datetime.now(UTC).isoformat()
    manifest = Manifest(
        schema_version=SCHEMA_VERSION,
        run_id=f"{stem}--{short_digest(whole)}",
        identity=whole,
        config=dict(config),
        dataset=dict(dataset),
        index_id="",
        notes=(note,),
        machine={},
        packages={},
        git_commit=git_commit,
        created_at=started_at,
    )
    run = RunDir.create(folder, manifest, [row for row, _ in answers], tell)
    with run.exclusive():
        for line in run.remove_damaged():
            tell(line)
        if run.done():
            return run
        there = run.latest_attempts()
        for row, prediction in answers:
            if (row.query.query_id, 0) not in there:
                record = RunRecord(
                    query_id=row.query.query_id,
                    repeat=0,
                    status="ok",
                    prediction=prediction,
                    cost=Cost(wall_s=None, throttled_s=None, usage=dict(usage or {})),
                    attempt=1,
                    started_at=started_at,
                )
                run.append_record(record)
        finished_at = datetime.now(UTC).isoformat()
        run.mark_done(Done(n_expected=len(answers), n_ok=len(answers), n_error=0, finished_at=finished_at))
    return run
