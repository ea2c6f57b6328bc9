import json
import time

import pytest
from runtimes import Asked, Chat

from harness.llm_utils.structured_output import Unreadable
from systems.common.graph_search.question_entities import ask_for_names, names_in
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


def test_there_are_never_more_than_a_few() -> None:
    assert len(names_in(", ".join(f"Name{n}" for n in range(100)))) == MAX_NAMES


@pytest.mark.parametrize("text", ["Which company ", "A ", "'", "Aa of the ", "“", "A.-"])
def test_a_long_hostile_question_takes_no_time(text: str) -> None:
    start = time.process_time()
    names_in(text * 20_000)
    assert time.process_time() - start < 5


async def test_the_model_is_asked_once_and_its_names_are_bounded() -> None:
    chat = Chat(lambda _: json.dumps({"names": [" Tidewright ", "", 4, "Tidewright", *map(str, range(50))]}))
    names = await ask_for_names(chat, "Who runs {Tidewright}?")
    assert names[:2] == ["Tidewright", "0"]
    assert len(names) == MAX_NAMES
    (call,) = chat.calls
    assert "Question: Who runs {Tidewright}?" in call.text
    assert call.json_schema is not None


async def test_prose_is_asked_for_once_more_and_then_an_error_of_that_query() -> None:
    def forgetful(asked: Asked) -> str:
        return '{"names": ["A"]}' if "could not be read" in asked.text else "The names are A and B."

    assert await ask_for_names(Chat(forgetful), "Who?") == ["A"]
    with pytest.raises(Unreadable):
        await ask_for_names(Chat(lambda _: "prose"), "Who?")
