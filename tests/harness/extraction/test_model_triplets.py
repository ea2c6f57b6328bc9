import json

import pytest
from runtimes import Asked, Chat

from harness.core.records import Triplet
from harness.extraction.model_triplets import MAX_TRIPLETS, JudgedTriplets
from harness.llm_utils.structured_output import Unreadable


def reply(*triplets: object) -> str:
    return json.dumps({"triplets": list(triplets)})


async def read(*replies: str, window: str = "Apple sued Samsung in 2011.") -> tuple[Triplet, ...]:
    waiting = iter(replies)
    return await JudgedTriplets(Chat(lambda _: next(waiting))).read(window)


async def test_a_window_becomes_its_triplets() -> None:
    found = await read(reply(["Apple", "sued", "Samsung"], ["Apple", "sued Samsung in", "2011"]))
    assert found == (Triplet("Apple", "sued", "Samsung"), Triplet("Apple", "sued Samsung in", "2011"))


async def test_the_question_is_the_text_alone_and_its_reply_is_bounded() -> None:
    chat = Chat(lambda _: reply())
    await JudgedTriplets(chat).read("Apple sued Samsung.")
    (asked,) = chat.calls
    assert "Apple sued Samsung." in asked.messages[-1].content
    assert asked.max_tokens is not None
    assert asked.json_schema is not None


async def test_a_text_without_facts_has_none() -> None:
    assert await read(reply()) == ()


async def test_objects_are_read_too_since_a_server_may_not_know_schemas() -> None:
    assert await read(reply({"head": "Apple", "relation": "sued", "tail": "Samsung"})) == (
        Triplet("Apple", "sued", "Samsung"),
    )


async def test_triplets_with_an_empty_or_missing_part_are_left_out_and_others_kept() -> None:
    found = await read(
        reply(["Apple", "", "Samsung"], ["Apple", "sued"], [1, 2, 3], ["a", "b", "c"], ["a", "b", "c"])
    )
    assert found == (Triplet("a", "b", "c"),)


async def test_what_was_said_is_one_line_and_bounded() -> None:
    (triplet,) = await read(reply(["Apple\n Inc.", "x" * 5_000, "Samsung"]))
    assert triplet.head == "Apple Inc."
    assert len(triplet.relation) < 200


async def test_a_list_without_end_is_cut() -> None:
    assert len(await read(reply(*[[f"head {number}", "is", "a"] for number in range(500)]))) == MAX_TRIPLETS


@pytest.mark.parametrize(
    "garbage",
    ["", "I cannot.", '{"triplets": 3}', reply(["", "", ""]), reply(["...", "...", "..."]), '{"triplets": [["a"'],
)
async def test_a_reply_that_cannot_be_read_is_asked_for_again_and_then_a_failure(garbage: str) -> None:
    assert await read(garbage, reply(["a", "b", "c"])) == (Triplet("a", "b", "c"),)
    with pytest.raises(Unreadable):
        await read(garbage, garbage)


async def test_what_the_client_raises_comes_out_as_it_is() -> None:
    def broken(_: Asked) -> str:
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        await JudgedTriplets(Chat(broken)).read("x")
