"""A run directory of a few answers."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.core.records import Query, Reference, RunRecord
from harness.store import SCHEMA_VERSION, Manifest, RunDir, SampleRow

MakeRun = Callable[..., RunDir]


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
