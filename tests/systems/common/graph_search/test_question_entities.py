import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runtimes import Chat

from systems.common.graph_search.question_entities import ask_for_names, names_in
from systems.common.graph_search.triplet_ranking import rank_triplets
from systems.common.graph_stores.contract import StoredTriplet
from systems.common.prompts.names import MAX_NAMES


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
    names = await ask_for_names(chat, "Who runs {Tidewright}?")
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
