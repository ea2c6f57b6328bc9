"""What is PassageIndex's alone; what it finds is held against brute force with the graph stores."""

import asyncio
import shutil
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import psutil
import pytest

from harness.core.records import Context, Document, Span
from harness.protocols import Vectors
from systems.common.chunking import Chunk
from systems.common.headings import document_heading
from systems.common.vector_index import PassageIndex

N, DIM = 2000, 64
Build = Callable[[Sequence[Chunk], Vectors], PassageIndex]


def unit(vectors: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]") -> Vectors:
    rows: Vectors = (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)
    return rows


def chunk(number: int, source: Document | None = None) -> Chunk:
    source = source or Document(doc_id=f"d{number}", text="text")
    return Chunk(f"{number:06d}-00000", "text", Span(doc_id=source.doc_id, start=0, end=4), source)


def search(index: PassageIndex, vector: Vectors, k: int) -> list[Context]:
    return asyncio.run(index.nearest_chunks(vector, k))


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    return unit(np.random.default_rng(7).normal(size=(N, DIM)))


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory, vectors: Vectors) -> Path:
    """2,000 random vectors, built and closed."""
    folder = tmp_path_factory.mktemp("stored")
    PassageIndex.create(folder, [chunk(number) for number in range(N)], vectors)
    return folder


@pytest.fixture(scope="module")
def index(stored: Path) -> Iterator[PassageIndex]:
    opened = PassageIndex.open(stored)
    yield opened
    opened.close()


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Build]:
    built: list[PassageIndex] = []

    def create(chunks: Sequence[Chunk], rows: Vectors) -> PassageIndex:
        folder = tmp_path / f"index{len(built)}"
        folder.mkdir()
        PassageIndex.create(folder, chunks, rows)
        built.append(PassageIndex.open(folder))
        return built[-1]

    yield create
    for one in built:
        one.close()


def test_where_k_is_larger_than_the_collection_all_come_in_order(index: PassageIndex, vectors: Vectors) -> None:
    query = unit(np.random.default_rng(8).normal(size=DIM))
    found = [int(context.doc_ids[0].removeprefix("d")) for context in search(index, query, 3 * N)]
    assert found == np.argsort(-(vectors @ query), kind="stable").tolist()


def test_opening_reads_the_graph_so_that_the_first_query_does_not_pay_for_it(stored: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(stored, folder)
    index = PassageIndex.open(folder)
    assert "data_level0.bin" in {Path(path).name for path in open_below(folder)}
    index.close()


def test_an_empty_index_finds_nothing_also_when_opened_again(build: Build, tmp_path: Path) -> None:
    query = unit(np.ones(DIM))
    first = build([], np.zeros((0, 0), dtype=np.float32))
    assert search(first, query, 10) == []
    first.close()
    again = PassageIndex.open(tmp_path / "index0")
    assert search(again, query, 10) == []
    again.close()


@pytest.mark.parametrize(
    ("title", "metadata", "expected"),
    [
        ("", {}, ""),
        ("A\n title ", {"source": "S", "published_at": "2031-03-14T08:30:00+00:00"}, "A title | S | 2031-03-14"),
        ("T", {"published_at": "12/11/2023\n10:30"}, "T | 12/11/2023 10:30"),
        ("T", {"published_at": "2024-03-05 23:30:00-08:00"}, "T | 2024-03-05"),
        ("T", {"published_at": "spring " * 1000}, f"T | {('spring ' * 6)[:39]}…"),
        ("T", {"author": "nobody", "url": "https://x.example", "published_at": ""}, "T"),
    ],
)
def test_a_heading_is_title_source_and_day_in_a_line(title: str, metadata: dict[str, str], expected: str) -> None:
    source = Document(doc_id="d", text="text", title=title, metadata=metadata)
    assert document_heading(chunk(0, source=source).document) == expected


def open_below(folder: Path) -> list[str]:
    return [file.path for file in psutil.Process().open_files() if Path(file.path).is_relative_to(folder)]


@pytest.mark.slow
def test_near_exact_search_misses_nothing_among_near_duplicates(build: Build) -> None:
    """Boilerplate makes clusters of near-equal passages, the hard case of a graph search."""
    random = np.random.default_rng(10)
    clusters = unit(random.normal(size=(20, DIM))).repeat(60, 0)
    rows = unit(clusters + random.normal(scale=1e-3, size=clusters.shape))
    index = build([chunk(number) for number in range(len(rows))], rows)
    for query in rows[::60]:
        exact = np.sort(rows @ query)[::-1][:10]
        scores = np.array([context.score for context in search(index, query, 10)])
        assert np.allclose(scores, exact, atol=1e-6)
        assert all(left >= right for left, right in pairwise(scores))
