"""The real data sets, read once; and no test may reach for the hub."""

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from harness.datasets import hub_rows, local_files
from harness.datasets.row_fields import FileEntry
from harness.protocols import DatasetSpec, RawDataset

LoadReal = Callable[[DatasetSpec, str], RawDataset]


def file_entries(*rows: Mapping[str, object]) -> list[FileEntry]:
    return [FileEntry(f"f row {number}", row) for number, row in enumerate(rows, start=1)]


def _refuse(table: hub_rows.HubTable) -> Sequence[Mapping[str, object]]:
    # pytest's own exception is no Exception, so the loader cannot turn it into a DataError
    pytest.fail(f"the test reached for the hub: {table}")


@pytest.fixture(scope="session")
def load_real(data_folder: Path) -> LoadReal:
    """spec, subset -> the real data set, read once per session."""

    @functools.cache
    def load(spec: DatasetSpec, subset: str) -> RawDataset:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(local_files.ENV, str(data_folder))
            patch.setattr(hub_rows, "fetch", _refuse)
            return spec.read(subset)

    return load


@pytest.fixture(autouse=True)
def empty_world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Every test starts in a folder of its own, without a data directory, a hub and what others cached."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAG_HARNESS_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.delenv(local_files.ENV, raising=False)
    monkeypatch.setattr(hub_rows, "fetch", _refuse)


@pytest.fixture
def own_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty data directory for the test to fill."""
    folder = tmp_path / "own"
    folder.mkdir()
    monkeypatch.setenv(local_files.ENV, str(folder))
    return folder
