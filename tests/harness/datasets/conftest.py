"""The real data files, where they are; and no test may reach for the hub."""

import functools
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NoReturn

import pytest

from harness.datasets import files, hub
from harness.protocols import DatasetSpec, RawDataset

ROOT = Path(__file__).resolve().parents[3]


def _refuse(table: hub.HubTable) -> Iterable[Mapping[str, object]]:
    # pytest's own exception is no Exception, so the loader cannot turn it into a DataError
    pytest.fail(f"the test reached for the hub: {table}")


def _absent(folder: Path) -> NoReturn:
    why = f"no data files: {folder} is not there; point {files.ENV} at the folder that data/README.md describes"
    if os.environ.get("CI") == "true":
        pytest.fail(why)
    pytest.skip(why)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Where the real files are: RAG_HARNESS_DATA, else ../shared/data beside the repository."""
    named = os.environ.get(files.ENV)
    folder = Path(named).expanduser() if named else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        _absent(folder)
    return folder.resolve()


@pytest.fixture(scope="session")
def load_real(data_folder: Path) -> Callable[[DatasetSpec, str], RawDataset]:
    """spec, subset -> the real data set, read once per session."""

    @functools.cache
    def load(name: str, subset: str) -> RawDataset:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(files.ENV, str(data_folder))
            patch.setattr(hub, "fetch", _refuse)
            return specs[name].load(subset)

    specs: dict[str, DatasetSpec] = {}

    def by_spec(spec: DatasetSpec, subset: str) -> RawDataset:
        specs[spec.name] = spec
        return load(spec.name, subset)

    return by_spec


@pytest.fixture(autouse=True)
def empty_world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every test starts in a folder of its own, without a data directory and without a hub."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(files.ENV, raising=False)
    monkeypatch.setattr(hub, "fetch", _refuse)


@pytest.fixture
def own_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty data directory for the test to fill."""
    folder = tmp_path / "own"
    folder.mkdir()
    monkeypatch.setenv(files.ENV, str(folder))
    return folder
