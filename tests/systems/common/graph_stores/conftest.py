"""Both stores, for the tests that hold for both."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from graph_samples import EDGES, chunks_of, graph, random_graph, written

from harness.core.records import Document
from systems.common.graph_index import StoreKind, open_store
from systems.common.graph_stores.contract import GraphStore
from systems.common.graph_stores.neo4j import Neo4jStore
from systems.common.knowledge_graph import KnowledgeGraph

NewStore = Callable[[Path], GraphStore]
Stored = tuple[GraphStore, KnowledgeGraph]
SOURCES = ("Wire", "The Post", "", "Wire", "Zürich \n'Post'", "", "", "", "")
DOCUMENTS = [
    Document(
        doc_id=f"d{number}",
        text=f"text {number}",
        title=f"T{number}",
        metadata={"source": source, "published_at": f"2024-01-{number + 1:02d}"},
    )
    for number, source in enumerate(SOURCES)
]
ALIKE = {
    "Café Müller": ("cafe", "MULLER", "Cafe\u0301"),
    "O'Brien & Sons": ("brien", "O\u2019Brien"),
    "AT&T": ("at&t", "AT"),
    "U.S. Steel": ("U.S.", "steel."),
    "Straße": ("STRASSE",),
    "Владимир Зеленский": ("зеленский",),
    "नरेन्द्र मोदी": ("मोदी",),
    "腾讯": ("腾讯",),
    "\ufb01rst \u2167": ("FIRST", "viii"),
    "C++": ("c#",),
    "and or not near": ("NOT", "AND OR"),
    "3.14": ("14",),
    "snake_case": ("case",),
}
"""Names, with phrases that find each of them and no other."""
PEOPLE = [f"Person {letter}" for letter in ("z", "y", "\u00e9", "\u4e2d", "\U00020000", "\uffdc", "b", "B2")]
SAMPLE = graph(chunks_of(DOCUMENTS), EDGES, ["Lonely", "Sam Smith", "Samsung", "Altman Street", *ALIKE, *PEOPLE])
LARGE = random_graph(
    chunks_of([Document(doc_id=f"d{number}", text="word " * 200) for number in range(300)]), 1_000, 6_000
)


@pytest.fixture(params=["ladybug", pytest.param("neo4j", marks=pytest.mark.slow)], scope="module")
def kind(request: pytest.FixtureRequest) -> StoreKind:
    if request.param == "neo4j":
        request.getfixturevalue("neo4j_server")
    chosen: StoreKind = request.param
    return chosen


@contextmanager
def stores(kind: StoreKind) -> Iterator[NewStore]:
    """Stores of this kind in any folder; closed afterwards, and what they wrote is removed from the server."""
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
def new_store(kind: StoreKind) -> Iterator[NewStore]:
    with stores(kind) as new:
        yield new


@pytest.fixture
def store(new_store: NewStore, tmp_path: Path) -> GraphStore:
    """An empty one."""
    return new_store(tmp_path / "index")


def stored(kind: StoreKind, folder: Path, kept: KnowledgeGraph) -> Iterator[Stored]:
    with stores(kind) as new:
        yield asyncio.run(written(new(folder), kept)), kept


@pytest.fixture(scope="module")
def sample(kind: StoreKind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stored]:
    """A store with SAMPLE, and SAMPLE; only read."""
    yield from stored(kind, tmp_path_factory.mktemp("sample"), SAMPLE)


@pytest.fixture(scope="module")
def large(kind: StoreKind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stored]:
    """A store with LARGE, and LARGE; only read."""
    yield from stored(kind, tmp_path_factory.mktemp("large"), LARGE)
