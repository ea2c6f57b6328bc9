"""Passages by the entities that they mention, over a real store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from graph_samples import Edge, graph, passages_of, texts, written

from systems.common.graph_search.mentioned_passages import passages_mentioning
from systems.common.graph_stores.contract import GraphStore
from systems.common.graph_stores.ladybug import LadybugStore

EDGES: tuple[Edge, ...] = (("Hub", "KNOWS", "Rare", (3,)), ("Hub", "KNOWS", "Other", (0, 1, 2, 4)))
KEPT = graph(texts(6), EDGES)
PASSAGES = passages_of(KEPT)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[GraphStore]:
    yield await written(store := LadybugStore(tmp_path), KEPT)
    store.close()


async def found(store: GraphStore, *ids: str, searched: tuple[int, ...] = (), depth: int = 9) -> list[str]:
    ranking = [PASSAGES[place] for place in searched]
    return [each.doc_ids[0] for each in await passages_mentioning(store, ids, ranking, 6, depth)]


async def test_a_rare_entity_counts_for_more_than_a_common_one(store: GraphStore) -> None:
    assert await found(store, "hub", "rare") == ["d3", "d0", "d1", "d2", "d4"]


async def test_what_mentions_as_much_comes_as_the_search_has_it(store: GraphStore) -> None:
    assert await found(store, "other", searched=(4, 5, 1)) == ["d4", "d1", "d0", "d2"]


async def test_the_search_s_best_is_not_lost_where_many_mention_as_much(store: GraphStore) -> None:
    assert await found(store, "other", searched=(4,), depth=1) == ["d4"]
