"""The question's names, held against the entities of a real store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from graph_samples import graph, texts, written

from systems.common.graph_search.entity_lookup import entities_named
from systems.common.graph_stores.contract import GraphStore
from systems.common.graph_stores.ladybug import LadybugStore

NAMES = [
    "Apple Inc.", "iPhone 13", "iPhone", "Phone 13", "MTV News", "TechCrunch", "Verge", "Sam Altman",
    "Altman", "OpenAI", "interest rate", "Rate", "Bank of England", "England", "WHO", "Sporting Lisbon",
]  # fmt: skip


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[GraphStore]:
    store = LadybugStore(tmp_path)
    await written(store, graph(texts(1), names=NAMES))
    yield store
    store.close()


async def named(store: GraphStore, question: str, publishers: frozenset[str] = frozenset()) -> list[str]:
    return [hit.name for hit in await entities_named(store, question, publishers, 3)]


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Which iPhone 13 review came first?", ["iPhone 13"]),
        ("What did the Bank of England say?", ["Bank of England"]),
        ("Did OpenAI's chief resign?", ["OpenAI"]),
        ("how did the interest rate change", ["interest rate"]),
        ("at what rate", []),
        ("Who leads OpenAI?", ["OpenAI"]),
        ("What does the WHO say?", ["WHO"]),
        ("Did Apple sue?", ["Apple Inc."]),
        ("Was it Samuel Altman or OpenAI?", ["Altman", "OpenAI"]),
        ("What did Sporting News report?", []),
        ("OpenAI, OpenAI and “OpenAI”?", ["OpenAI"]),
        ("", []),
        ("?!", []),
    ],
)
async def test_names_are_the_graph_s_own_the_longest_first(
    store: GraphStore, question: str, names: list[str]
) -> None:
    assert await named(store, question) == names


async def test_who_published_is_not_what_was_asked(store: GraphStore) -> None:
    publishers = frozenset({"techcrunch", "verge", "sporting news"})
    question = "Who, according to TechCrunch, The Verge's and Sporting News articles, left OpenAI?"
    assert await named(store, question, publishers) == ["OpenAI"]
    assert await named(store, "What did TechCrunch say of Sam Altman?") == ["TechCrunch", "Sam Altman"]
