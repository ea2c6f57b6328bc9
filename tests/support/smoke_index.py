"""Cheap runs for tests of something else: a built index of the smoke config, workers without processes."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_line import CommandLine, CommandLineHere
from damaging import WorkersHere

Indexed = Callable[[CommandLine], None]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results after a run of naive, without that run: only its index."""
    folder = tmp_path_factory.mktemp("smoke-index")
    here = CommandLineHere(folder, {"RAG_HARNESS_CACHE": str(folder / "cache")})
    with WorkersHere():
        made = here.run("--set", "models.generator.provider=none", "--set", "dataset.sample.per_type=1")
    shutil.rmtree(made["path"])
    return here.results


@pytest.fixture
def with_index(built: Path) -> Indexed:
    """with_index(command line): naive and recursive of the smoke config find a built index."""

    def copy(cli: CommandLine) -> None:
        shutil.copytree(built, cli.results)

    return copy


@pytest.fixture
def workers_here() -> Iterator[None]:
    """Workers in this process too, for tests of models and records: starting theirs takes most of the time."""
    with WorkersHere():
        yield
