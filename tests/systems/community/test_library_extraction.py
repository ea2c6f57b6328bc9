"""`index.extractor=nano`: the library's own extraction."""

import pytest
from runtimes import Asked, BareRuntime, Chat

from tests.systems.community.scripted import ENTITIES, Failing, answer_by_rule, build, graph_of

# Each process that loads nano-graphrag waits for it for seconds.
pytestmark = pytest.mark.slow


async def test_the_librarys_own_extraction_asks_as_it_does_and_once_more_for_what_was_missed(
    bare: BareRuntime, chat: Chat
) -> None:
    stats = await build(bare, extractor="nano")
    assert (stats.nodes, stats.edges, stats.failed_chunks) == (9, 8, 0)
    first = [
        call for call in chat.calls if call.messages[0].content.startswith("-Goal-") and len(call.messages) == 1
    ]
    more = [call for call in chat.calls if len(call.messages) == 3 and call.messages[1].role == "assistant"]
    assert (len(first), len(more)) == (5, 5)
    assert all("MANY entities were missed" in call.messages[2].content for call in more)
    assert {call.max_tokens for call in [*first, *more]} == {4096}
    assert sorted(graph_of(bare)) == sorted(f'"{name.upper()}"' for name in ENTITIES)
    assert (5, 5, "extracting") in bare.told


@pytest.mark.parametrize("failure", ["I cannot do that.", RuntimeError("refused")])
async def test_a_chunk_without_records_is_a_failed_chunk_and_is_not_asked_on(
    bare: BareRuntime, failure: Exception | str
) -> None:
    chat = Chat(Failing("Salt Opera", failure=failure))
    stats = await build(BareRuntime(bare.index_dir, chat), extractor="nano")
    assert (stats.failed_chunks, stats.nodes) == (1, 6)
    assert len([call for call in chat.calls if "Salt Opera" in call.text]) == 1


@pytest.mark.parametrize("reply", ["A summary.", ""])
async def test_a_long_description_is_summarised_and_a_summary_that_fails_is_counted(
    bare: BareRuntime, reply: str
) -> None:
    def verbose(asked: Asked) -> str:
        if "Description List" in asked.text:
            return reply
        return answer_by_rule(asked).replace(" is an organization.", " is an organization" + " and more" * 300)

    stats = await build(BareRuntime(bare.index_dir, Chat(verbose)), extractor="nano")
    nodes = graph_of(bare).nodes(data=True)
    assert {data["description"] for _, data in nodes if data["entity_type"] == '"ORGANIZATION"'} == {reply}
    lost = ("9 long descriptions could not be summarised and are empty",) if not reply else ()
    assert stats.notes[1:] == lost


async def test_text_of_a_model_that_no_xml_can_hold_is_stored_without_it(bare: BareRuntime) -> None:
    def hostile(asked: Asked) -> str:
        return answer_by_rule(asked).replace("organization.", "organization\x0b &#x1; \ufffe {x} <b> \x00]]>.")

    stats = await build(BareRuntime(bare.index_dir, Chat(hostile)), extractor="nano")
    assert stats.nodes == 9
    assert "{x} <b>" in graph_of(bare).nodes['"GULL SOUND"']["description"]
