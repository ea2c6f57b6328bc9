"""Both stores, for the tests that hold for both."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from systems.common.graph_stores.contract import GraphStore
from systems.common.graph_stores.neo4j import Neo4jStore
from systems.common.graph_stores.open_store import StoreKind, open_store

NewStore = Callable[[Path], GraphStore]


@pytest.fixture(params=["ladybug", pytest.param("neo4j", marks=pytest.mark.slow)])
def kind(request: pytest.FixtureRequest) -> StoreKind:
    if request.param == "neo4j":
        request.getfixturevalue("neo4j_server")
    chosen: StoreKind = request.param
    return chosen


@pytest.fixture
def new_store(kind: StoreKind) -> Iterator[NewStore]:
    """A store of this kind in a folder; closed afterwards, and what it wrote is removed from the server."""
    made: list[tuple[Path, GraphStore]] = []

    def new(folder: Path) -> GraphStore:
        folder.mkdir(exist_ok=True, parents=True)
        made.append((folder, open_store(kind, folder)))
        return made[-1][1]

    yield new
    for _, store in made:
        store.close()
    if kind == "neo4j":
        for folder in {folder for folder, _ in made if folder.exists()}:
            asyncio.run(Neo4jStore(folder).drop())


@pytest.fixture
def store(new_store: NewStore, tmp_path: Path) -> GraphStore:
    """An empty one."""
    return new_store(tmp_path / "index")
