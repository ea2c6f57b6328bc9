"""The question's names, held against the entities of a real store, and passages by what they mention."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from graph_samples import Edge, graph, passages_of, texts, written
from hypothesis import given
from hypothesis import strategies as st
from runtimes import Chat

from harness.llm_utils.structured_output import ask_json
from systems.common.graph_retrieval import passages_mentioning, rank_triplets
from systems.common.graph_stores.contract import GraphStore, StoredTriplet
from systems.common.graph_stores.ladybug import LadybugStore
from systems.common.question_entities import MAX_NAMES, entities_named, names_in, names_question

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
async def test_names_are_the_graph_s_longest_first(store: GraphStore, question: str, names: list[str]) -> None:
    assert await named(store, question) == names


async def test_who_published_is_not_what_was_asked(store: GraphStore) -> None:
    publishers = frozenset({"techcrunch", "verge", "sporting news"})
    question = "Who, according to TechCrunch, The Verge's and Sporting News articles, left OpenAI?"
    assert await named(store, question, publishers) == ["OpenAI"]
    assert await named(store, "What did TechCrunch say of Sam Altman?") == ["TechCrunch", "Sam Altman"]


# Passages by the entities that they mention, over a real store.


EDGES: tuple[Edge, ...] = (("Hub", "KNOWS", "Rare", (3,)), ("Hub", "KNOWS", "Other", (0, 1, 2, 4)))
KEPT = graph(texts(6), EDGES)
PASSAGES = passages_of(KEPT)


@pytest.fixture
async def passages(tmp_path: Path) -> AsyncIterator[GraphStore]:
    yield await written(passages := LadybugStore(tmp_path), KEPT)
    passages.close()


async def found(passages: GraphStore, *ids: str, searched: tuple[int, ...] = (), depth: int = 9) -> list[str]:
    ranking = [PASSAGES[place] for place in searched]
    return [each.doc_ids[0] for each in await passages_mentioning(passages, ids, ranking, 6, depth)]


async def test_a_rare_entity_counts_for_more_than_a_common_one(passages: GraphStore) -> None:
    assert await found(passages, "hub", "rare") == ["d3", "d0", "d1", "d2", "d4"]


async def test_what_mentions_as_much_comes_as_the_search_has_it(passages: GraphStore) -> None:
    assert await found(passages, "other", searched=(4, 5, 1)) == ["d4", "d1", "d0", "d2"]


async def test_the_search_s_best_is_not_lost_where_many_mention_as_much(passages: GraphStore) -> None:
    assert await found(passages, "other", searched=(4,), depth=1) == ["d4"]


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who runs Tidewright Power?", ["Tidewright Power"]),
        ("Did the Bank of England raise rates?", ["Bank of England"]),
        (
            "Do The Verge and TechCrunch agree on 'the new phone'?",
            ["Verge", "TechCrunch", "the new phone"],
        ),
        ("Was “The Clock” shown before Ledger & Tide's report?", ["The Clock", "Clock", "Ledger & Tide's"]),
        ("What did St. Ysolde's say in August 2031?", ["St. Ysolde's", "August 2031"]),
        ("Which company, according to Meridian Wire, bought Meridian Wire?", ["Meridian Wire"]),
        ("what was the first planet to be discovered", []),
        ("Did eBay sell the iPhone 13?", ["eBay", "iPhone 13"]),
        ("Who?", []),
        ("", []),
        ("¿Wer ist Ångström?", ["Ångström"]),
    ],
)  # fmt: skip
def test_quoted_phrases_and_capitalised_words_are_names_in_their_order(question: str, names: list[str]) -> None:
    found = names_in(question)
    assert [name for name in found if name not in {"Wer"}] == names


async def test_the_model_is_asked_once_and_its_names_are_bounded() -> None:
    chat = Chat(lambda _: json.dumps({"names": [" Tidewright ", "", 4, "Tidewright", *map(str, range(50))]}))
    names = (await ask_json(chat, names_question("Who runs {Tidewright}?"))).value
    assert names[:2] == ["Tidewright", "0"]
    assert len(names) == MAX_NAMES
    (call,) = chat.calls
    assert "Question: Who runs {Tidewright}?" in call.text
    assert call.json_schema is not None


def triplet(head: str, relation: str, tail: str, n_chunks: int = 1) -> StoredTriplet:
    chunks = tuple(f"c{number}" for number in range(n_chunks))
    return StoredTriplet(head, relation, tail, head, tail, chunks, ("d",))


QUESTION = "Who did Tidewright Power pay to replace Ondrevik?"
FOUND = {"tidewright power": 0, "ondrevik": 1}
BOTH = triplet("tidewright power", "HIRED", "ondrevik")
WORDS = triplet("tidewright power", "REPLACE", "brennick")
OFTEN = triplet("alder", "KNOWS", "tidewright power", n_chunks=3)
PLAIN = triplet("tidewright power", "BUILT", "gull sound")
OTHER = triplet("gannets", "PLAY", "ondrevik")
ORDER = [BOTH, WORDS, OTHER, OFTEN, PLAIN]


def test_both_ends_first_then_the_best_of_each_entity_by_the_question_s_words_and_support() -> None:
    assert rank_triplets(QUESTION, FOUND, ORDER[::-1]) == ORDER


def test_an_entity_with_hundreds_of_relations_leaves_room_for_the_others() -> None:
    hub = [triplet("tidewright power", f"R{number}", "x") for number in range(300)]
    assert rank_triplets(QUESTION, FOUND, [*hub, OTHER])[1] == OTHER


@given(st.permutations(ORDER))
def test_the_order_they_came_in_does_not_matter(shuffled: list[StoredTriplet]) -> None:
    assert rank_triplets(QUESTION, FOUND, shuffled) == ORDER
