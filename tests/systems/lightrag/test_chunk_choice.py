from importlib import import_module
from typing import Any

import numpy as np
import pytest

from harness.core.errors import MissingDependency
from systems.lightrag import library
from systems.lightrag.chunk_choice import pick_nearest


class Vectors:
    """Of chunks, by their ids."""

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self._vectors = vectors

    async def get_vectors_by_ids(self, ids: list[str]) -> dict[str, list[float]]:
        return {one: self._vectors[one] for one in ids if one in self._vectors}


async def embed(_texts: list[str], **_: object) -> list[list[float]]:
    return [[1.0, 0.0]]


async def picked(vectors: dict[str, list[float]], number: int, named: list[list[str]]) -> list[str]:
    info = [{"sorted_chunks": ids} for ids in named]
    return await pick_nearest(
        query="q", chunks_vdb=Vectors(vectors), num_of_chunks=number, entity_info=info, embedding_func=embed
    )


async def test_equal_ones_come_in_corpus_order_and_none_twice() -> None:
    vectors = {"c": [1.0, 0.0], "a": [0.0, 1.0], "b": [2.0, 0.0], "d": [1.0, 1.0]}
    assert await picked(vectors, 3, [["d", "c"], ["b", "a", "c"]]) == ["b", "c", "d"]


@pytest.mark.parametrize(("number", "named"), [(0, [["a"]]), (3, []), (3, [[]]), (3, [["a", "gone"]])])
async def test_there_may_be_none(number: int, named: list[list[str]]) -> None:
    assert await picked({"a": [1.0, 0.0]}, number, named) == []


@pytest.mark.slow
async def test_it_picks_what_the_library_picks() -> None:
    library.load()
    theirs = import_module("lightrag.utils").pick_by_vector_similarity
    rows = np.random.default_rng(2).normal(size=(60, 8))
    vectors = {f"{number:03d}": row.tolist() for number, row in enumerate(rows)}
    query = np.random.default_rng(3).normal(size=8)
    info = [{"sorted_chunks": list(vectors)[start : start + 20]} for start in (0, 10, 40)]
    given: dict[str, Any] = {
        "query": "q",
        "chunks_vdb": Vectors(vectors),
        "num_of_chunks": 12,
        "entity_info": info,
    }
    given |= {"text_chunks_storage": None, "embedding_func": embed, "query_embedding": query}
    assert await pick_nearest(**given) == await theirs(**given)


@pytest.mark.parametrize("installed", ["1.4.9", "1.6.0", "2.0"])
def test_another_version_is_one_line_before_anything_is_paid(
    installed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "version", lambda _: installed)
    with pytest.raises(MissingDependency, match=f"{installed} is installed"):
        library.require()


def test_a_package_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "find_spec", lambda name: None if name == "nano_vectordb" else object())
    with pytest.raises(MissingDependency, match="not installed: nano_vectordb"):
        library.require()


def test_another_package_of_that_name_is_told_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "find_spec", lambda name: None if name == "lightrag.operate" else object())
    with pytest.raises(MissingDependency, match="another package called lightrag"):
        library.require()
