"""References and records of a few words, and a run directory around them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from records import run_record

from harness.core.records import Context, Failure, Prediction, Query, Reference, RunRecord
from harness.store import SCHEMA_VERSION, Manifest, RunDir, SampleRow

MakeRecord = Callable[..., RunRecord]
MakeReference = Callable[..., Reference]
MakeRun = Callable[..., RunDir]


@pytest.fixture
def reference() -> MakeReference:
    """reference("q1", "Yes", "True")."""

    def make(query_id: str, *answers: str, query_type: str = "inference_query") -> Reference:
        return Reference(query_id=query_id, query_type=query_type, answers=answers)

    return make


@pytest.fixture
def record() -> MakeRecord:
    """record("q1", "Yes"); record("q1", error="boom"); record("q1", None) without a generator."""

    def make(query_id: str, answer: str | None = None, *, repeat: int = 0, error: str = "") -> RunRecord:
        said = Failure(kind="ValueError", message=error) if error else Prediction(answer=answer)
        return run_record(query_id, said, repeat=repeat)

    return make


@pytest.fixture
def answered() -> MakeRecord:
    """answered("q1", "an answer", "a context", ...)."""

    def make(query_id: str, answer: str | None, *contexts: str) -> RunRecord:
        passages = tuple(Context(text=text, doc_ids=("d",)) for text in contexts)
        return run_record(query_id, Prediction(answer=answer, contexts=passages))

    return make


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """A run directory with these references and records."""

    def make(references: Sequence[Reference], records: Sequence[RunRecord], **identity: Any) -> RunDir:
        manifest = Manifest(
            schema_version=SCHEMA_VERSION,
            run_id="demo--naive--0123456789ab",
            identity={"models": {"generator": {"provider": "fake", "model": "fake"}}, "repeats": 1, **identity},
            config={},
            dataset={"name": "demo"},
            index_id="0123456789ab",
            machine={},
            packages={},
            git_commit="",
            created_at="2026-11-20T10:00:00+00:00",
        )
        sample = [SampleRow(query=Query(query_id=one.query_id, text="?"), reference=one) for one in references]
        run = RunDir.create(tmp_path / "results", manifest, sample)
        for one in records:
            run.append_record(one)
        return run

    return make
