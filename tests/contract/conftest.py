"""Every registered system in turn, indexed once over the demo."""

import asyncio
import shutil
from pathlib import Path

import pytest

from harness.datasets import Dataset, QuerySample, load_dataset
from harness.registry import DATASETS, SYSTEMS
from tests.contract.suite import Findings, Indexed, Task, answer_each, build_index, load, opened, run_guarded


@pytest.fixture(scope="session", params=SYSTEMS.names())
def system(request: pytest.FixtureRequest) -> str:
    """A registered system's name: one that is registered tomorrow is tested tomorrow."""
    return str(request.param)


@pytest.fixture(scope="session")
def demo() -> Dataset:
    """A real corpus of 28 articles with a query of each type."""
    return load_dataset(DATASETS.load("demo"), sample=QuerySample(per_type=1, seed=3))


@pytest.fixture(scope="session")
def indexed(system: str, demo: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    """The system's index over the demo."""
    folder = tmp_path_factory.mktemp(system) / "index"

    async def build() -> Indexed:
        stats = await build_index(system, folder, demo.documents)
        with opened(system, folder) as built:
            await load(built)
            return Indexed(folder, stats, await answer_each(built, demo.queries, "indexer"))

    return asyncio.run(build())


@pytest.fixture(scope="session")
def fresh(system: str, indexed: Indexed, demo: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """What a fresh, guarded process does with that index."""
    task = Task(
        system=system, folder=indexed.folder, phase="answer", documents=demo.documents, queries=demo.queries
    )
    return run_guarded(task, tmp_path_factory.mktemp(f"{system}-fresh"))


@pytest.fixture
def copied(indexed: Indexed, tmp_path: Path) -> Path:
    """A copy of the index for one test, at another place."""
    shutil.copytree(indexed.folder / "store", tmp_path / "index" / "store")
    return tmp_path / "index"
