import asyncio
import json

import pytest
from runtimes import Asked, Chat

from harness.core.errors import ModelUnavailable
from harness.core.records import Document, Triplet
from harness.extraction.types import TextGraph
from systems.common.chunking import Chunk, ChunkParams, iter_chunks
from systems.common.extraction.bounded import BoundedExtractor
from systems.common.extraction.extractor import Focus
from systems.common.prompts.triplets import MAX_TRIPLETS

SOLVANE = Triplet("Ingrid Solvane", "runs", "Tidewright Power")


def chunks(*texts: str) -> list[Chunk]:
    documents = [
        Document(doc_id=f"d{number}", text=text, title="A title", metadata={"source": "The Post"})
        for number, text in enumerate(texts)
    ]
    return list(iter_chunks(documents, ChunkParams()))


def reply(*triplets: Triplet) -> str:
    return json.dumps({"triplets": [triplet._asdict() for triplet in triplets]})


async def extract(chat: Chat, *texts: str) -> list[TextGraph]:
    return await BoundedExtractor(chat, lambda _done, _total: None).extract(chunks(*texts))


async def test_each_chunk_is_one_call_that_shows_its_heading_and_text_between_the_instruction() -> None:
    chat = Chat(lambda _: reply(SOLVANE))
    found = await extract(chat, "Text {one}.", "Text two.")
    assert found == [TextGraph(triplets=(SOLVANE,))] * 2
    first = chat.calls[0]
    assert [call.messages[0] for call in chat.calls] == [first.messages[0]] * 2
    user = first.messages[1].content
    assert "A title | The Post\nText {one}." in user
    instruction = first.messages[0].content.split("\n", 1)[1]
    assert user.endswith(instruction)
    assert first.max_tokens is not None
    assert first.json_schema is not None
    assert first.json_schema["properties"]["triplets"]["maxItems"] == MAX_TRIPLETS


async def test_a_focus_names_kinds_and_relations_and_reads_dates() -> None:
    other = Triplet("Ingrid Solvane", "likes", "tea")
    listed = [{**SOLVANE._asdict(), "date": "May 2023"}, {**other._asdict(), "date": "today"}]
    chat = Chat(lambda _: json.dumps({"triplets": listed}))
    focus = Focus(("person", "company"), ("runs", "built"), dates=True)
    (found,) = await BoundedExtractor(chat, lambda *_: None, focus).extract(chunks("Text."))
    assert found == TextGraph(triplets=(SOLVANE,), dates=((SOLVANE, "May 2023"),))
    (asked,) = chat.calls
    assert all(word in asked.text for word in ("person, company", "runs, built", '"date"'))
    parts = (asked.json_schema or {})["properties"]["triplets"]["items"]["properties"]
    assert (parts["relation"]["enum"], "date" in parts) == (["runs", "built"], True)


async def test_a_call_that_fails_is_that_chunk_s_failure() -> None:
    def answer(asked: Asked) -> str:
        if "bad" in asked.text:
            raise ConnectionResetError("the line broke")
        return reply(SOLVANE)

    good, bad = await extract(Chat(answer), "good", "bad")
    assert not good.failure
    assert bad.failure == "ConnectionResetError: the line broke"


async def test_a_model_that_is_gone_ends_the_extraction() -> None:
    def answer(_: Asked) -> str:
        raise ModelUnavailable("the key is refused", "set a valid key")

    with pytest.raises(ModelUnavailable):
        await extract(Chat(answer), *map(str, range(20)))


@pytest.mark.parametrize(
    ("text", "triplets"),
    [
        (reply(), ()),
        (reply(SOLVANE, SOLVANE), (SOLVANE,)),
        (reply(*(Triplet(f"n{n}", "is", "x") for n in range(30))), 10),
        (json.dumps({"triplets": [{"head": "a", "relation": "b"}, SOLVANE._asdict(), "x", None]}), (SOLVANE,)),
        (json.dumps({"triplets": [{"head": " ", "relation": "is", "tail": "x"}, SOLVANE._asdict()]}), (SOLVANE,)),
        (reply(Triplet("n" * 200, "r" * 200, "t" * 200)), (Triplet("n" * 60, "r" * 40, "t" * 60),)),
    ],
    ids=["none", "twice", "too many", "half a triplet", "empty field", "too long"],
)
async def test_what_a_server_without_schemas_may_send_is_bounded(
    text: str, triplets: tuple[Triplet, ...] | int
) -> None:
    (found,) = await extract(Chat(lambda _: text), "text")
    assert not found.failure
    assert (len(found.triplets) if isinstance(triplets, int) else found.triplets) == triplets


@pytest.mark.parametrize("text", ['{"facts": []}', '{"triplets": {}}', '{"triplets": [{}, 1]}'])
async def test_json_without_a_single_triplet_of_that_form_is_a_failure(text: str) -> None:
    (found,) = await extract(Chat(lambda _: text), "text")
    assert found.failure


async def test_calls_go_side_by_side_within_bounds() -> None:
    under_way, most = 0, 0

    class Slow(Chat):
        async def complete(self, *args: object, **options: object) -> str:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0.002)
            under_way -= 1
            return reply()

    await BoundedExtractor(Slow(), lambda _done, _total: None).extract(chunks(*map(str, range(40))))
    assert 1 < most <= 8
