"""Records and manifests to store."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from records import FAILED, run_record

from harness.core.errors import StoreError
from harness.core.records import Prediction, Query, Reference, RunRecord
from harness.store import SCHEMA_VERSION, Manifest, RunDir, SampleRow

MakeRecord = Callable[..., RunRecord]
MakeManifest = Callable[..., Manifest]


@pytest.fixture
def make_record() -> Callable[..., RunRecord]:
    """make_record(query_id, repeat=0, attempt=1, ok=True, answer=...)."""

    def make(
        query_id: str, repeat: int = 0, attempt: int = 1, *, ok: bool = True, answer: str = "Ångström\n🙂"
    ) -> RunRecord:
        said = Prediction(answer=answer) if ok else FAILED
        return run_record(query_id, said, repeat=repeat, attempt=attempt)

    return make


@pytest.fixture
def make_manifest() -> Callable[..., Manifest]:
    """make_manifest(run_id, **identity)."""

    def make(run_id: str = "demo--naive--0123456789ab", **identity: Any) -> Manifest:
        return Manifest(
            schema_version=SCHEMA_VERSION,
            run_id=run_id,
            identity=identity or {"seed": 0},
            config={},
            dataset={},
            index_id="0" * 12,
            machine={},
            packages={},
            git_commit="",
            created_at="2026-01-01T00:00:00+00:00",
        )

    return make


def refusal(call: Callable[[], object]) -> str:
    """The one line with which the store refuses."""
    with pytest.raises(StoreError) as caught:
        call()
    line = str(caught.value)
    assert len(line.splitlines()) == 1
    return line


@pytest.fixture
def queries() -> tuple[str, ...]:
    """The names of those that were sampled."""
    return "q1", "q2"


@pytest.fixture
def sample(queries: tuple[str, ...]) -> list[SampleRow]:
    """The sampled queries."""
    return [
        SampleRow(
            query=Query(query_id=name, text=f"{name}?"),
            reference=Reference(query_id=name, query_type="factoid", answers=("yes",)),
        )
        for name in queries
    ]


@pytest.fixture
def run(tmp_path: Path, make_manifest: Callable[..., Manifest], sample: list[SampleRow]) -> RunDir:
    """A run that was just started."""
    return RunDir.create(tmp_path / "results", make_manifest(), sample)


@pytest.fixture(autouse=True)
def no_descriptor_is_left_open() -> Iterator[None]:
    """Whatever the store opens it closes, also when it refuses."""
    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208 - the names of descriptors
    yield
    after = {name for name in os.listdir("/proc/self/fd") if Path(f"/proc/self/fd/{name}").exists()}  # noqa: PTH208
    assert after <= before
