import numpy as np
import pytest
from harbour_corpus import CORPUS, QUERY
from runtimes import Asked, BareRuntime, Chat

from harness.core.records import Context, Document, Query
from harness.llm_utils.answer_contract import ABSTENTION, answer_messages
from harness.llm_utils.structured_output import Unreadable
from harness.models.fake_model import bag_of_words
from systems.common.token_estimate import count_tokens
from systems.community.global_search import map_messages, map_schema
from tests.systems.community.scripted import Failing, build, opened, stored

# Each process that loads nano-graphrag waits for it for seconds.
pytestmark = pytest.mark.slow
NOWHERE = Query(query_id="n", text="umbrella violin zebra")
STATIONS = " ".join(
    [
        *(f"Harbour Company {chr(65 + n)}x built Station Number{chr(65 + n)}." for n in range(26)),
        *(f"Harbour Company {chr(65 + n)}x met Harbour Company {chr(66 + n)}x." for n in range(25)),
    ]
)
"""Several communities: more than one call where a call reads little."""


def maps(chat: Chat) -> list[Asked]:
    return [call for call in chat.calls if call.json_schema is not None]


def of_kind(contexts: tuple[Context, ...], kind: str) -> list[Context]:
    return [context for context in contexts if context.kind == kind]


async def test_global_search_maps_reports_and_answers_from_the_points(runtime: BareRuntime, chat: Chat) -> None:
    prediction = await (await opened(runtime)).answer(QUERY)
    assert runtime.stages == ["map", "generate"]
    reports = sorted(stored(runtime, "kv_store_community_reports").values(), key=lambda one: -one["occurrence"])
    (mapped,) = maps(chat)
    told = [f"Sources: The Harbour Post\n{one['report_string'].strip()}" for one in reports]
    assert mapped.messages == map_messages(QUERY.text, told)
    assert mapped.json_schema == map_schema(len(reports))
    assert prediction.answer == "Ingrid Solvane"
    assert chat.prompts[-1] == answer_messages(QUERY.text, prediction.contexts, "short")
    best = prediction.contexts[0]
    said = "The Harbour Post\nGull Sound and Tidewright Power, 1"
    assert (best.text, best.kind, best.score) == (said, "summary", 2.0)
    # They state what the point names; "grid" says other things of the same community.
    assert best.doc_ids == ("array", "again")


async def test_small_budgets_make_more_map_calls_and_fewer_points(bare: BareRuntime, chat: Chat) -> None:
    await build(bare, [Document(doc_id="d", text=STATIONS)], chunk_size=300)
    asked = {}
    for budget in (200, 6000):
        chat.calls.clear()
        question = Query(query_id="q", text="Harbour Company Ax, Harbour Company Bx?")
        prediction = await (await opened(bare, context_tokens=budget)).answer(question)
        asked[budget] = len(maps(chat))
        assert asked[budget] == len(prediction.trace)
        assert sum(count_tokens(context.text) for context in prediction.contexts) <= budget
    assert asked[200] > asked[6000] == 1
    (await opened(bare, max_reports=1)).close()
    chat.calls.clear()
    await (await opened(bare, max_reports=1)).answer(QUERY)
    assert maps(chat)[0].json_schema == map_schema(1)


async def test_only_communities_down_to_the_level_are_asked(bare: BareRuntime, chat: Chat) -> None:
    # Two groups of more than ten that all met each other: each is a community, and is divided once more.
    groups = [[f"{place} Company {chr(65 + n)}x" for n in range(15)] for place in ("Harbour", "Forest")]
    met = [(a, b) for names in groups for a in names for b in names if a < b]
    text = " ".join(f"{a} met {b}." for a, b in [*met, (groups[0][0], groups[1][0])])
    stats = await build(bare, [Document(doc_id="d", text=text)], chunk_size=300)
    reports = stored(bare, "kv_store_community_reports").values()
    coarse = [report for report in reports if report["level"] == 0]
    assert 0 < len(coarse) < stats.communities
    bare.chat = None
    found = [(await (await opened(bare, community_level=level)).answer(QUERY)).contexts for level in (0, 9)]
    assert [len(contexts) for contexts in found] == [len(coarse), stats.communities]


MAPPED = [
    ('{"points": [{"score": 9}, 3, {"description": " ", "score": 9}, {"description": "x", "score": "9"}]}', 1),
    ('{"points": [{"description": "x", "score": 0, "report": 1}]}', 0),
    ('{"points": [{"description": "x", "score": 400, "report": 1}]}', 1),
    ('{"points": [{"description": "x", "score": 4, "report": 99}, {"description": "y", "score": 5}]}', 2),
]


@pytest.mark.parametrize(("reply", "points"), MAPPED)
async def test_what_a_map_reply_holds_is_taken_and_what_it_should_not_hold_is_left_out(
    runtime: BareRuntime, reply: str, points: int
) -> None:
    runtime.chat = Chat(Failing("You find out", failure=reply))
    prediction = await (await opened(runtime)).answer(QUERY)
    assert len(prediction.contexts) == points
    scores = [context.score or 0 for context in prediction.contexts]
    assert scores == sorted(scores, reverse=True)
    assert all(score <= 100 for score in scores)
    # Those without a description or a score are counted.
    assert prediction.trace[0].content.count("points not read: 3") == reply.count("3, ")
    assert prediction.answer == (ABSTENTION if points == 0 else "Ingrid Solvane")
    if points == 2:
        # The model did not say which report: to name the documents of all would be no retrieval.
        assert [context.doc_ids for context in prediction.contexts] == [(), ()]
        assert [context.text for context in prediction.contexts] == ["y", "x"]


@pytest.mark.parametrize("reply", ["Certainly!", "[1]", '{"points": "none"}', '{"points": [{"score": 9}]}'])
async def test_where_no_map_reply_can_be_read_the_query_fails_and_is_not_passed_off_as_an_abstention(
    runtime: BareRuntime, reply: str
) -> None:
    chat = Chat(Failing("You find out", failure=reply))
    runtime.chat = chat
    with pytest.raises(Unreadable, match="map step"):
        await (await opened(runtime)).answer(QUERY)
    assert len(chat.calls) == 2


@pytest.mark.parametrize(
    ("first", "raises"),
    [
        ('{"points": []}', True),
        ('{"points": [{"description": "x", "score": 0, "report": 1}]}', True),
        ('{"points": [{"description": "x", "score": 1, "report": 1}]}', False),
    ],
)
async def test_where_no_point_helps_one_map_reply_that_cannot_be_read_fails_the_query(
    bare: BareRuntime, first: str, raises: bool
) -> None:
    await build(bare, [Document(doc_id="d", text=STATIONS)], chunk_size=300)
    asked_first = ""

    def reply(asked: Asked) -> str:
        nonlocal asked_first
        if asked.json_schema is None:
            return "Ingrid Solvane"
        asked_first = asked_first or asked.text
        return first if asked.text == asked_first else "Certainly!"

    bare.chat = Chat(reply)
    system = await opened(bare, context_tokens=200)
    if raises:
        with pytest.raises(Unreadable, match=r"of \d replies to the map step"):
            await system.answer(QUERY)
    else:
        assert (await system.answer(QUERY)).answer == "Ingrid Solvane"
    assert len(maps(bare.chat)) > 2


@pytest.mark.parametrize("mode", ["global", "local"])
async def test_where_nothing_is_found_it_abstains_at_once(runtime: BareRuntime, chat: Chat, mode: str) -> None:
    prediction = await (await opened(runtime, mode=mode)).answer(NOWHERE)
    assert (prediction.answer, prediction.contexts) == (ABSTENTION, ())
    assert len(chat.calls) == (1 if mode == "global" else 0)


async def test_without_a_generator_global_search_ranks_the_reports(runtime: BareRuntime) -> None:
    runtime.chat = None
    prediction = await (await opened(runtime)).answer(NOWHERE)
    reports = stored(runtime, "kv_store_community_reports").values()
    ranked = sorted(reports, key=lambda one: (-one["occurrence"], -one["report_json"]["rating"]))
    assert prediction.answer is None
    told = [f"Sources: The Harbour Post\n{one['report_string'].strip()}" for one in ranked]
    assert [context.text for context in prediction.contexts] == told
    assert {context.kind for context in prediction.contexts} == {"summary"}
    assert runtime.stages == ["retrieve"]


async def test_local_search_gives_reports_entities_relations_passages(runtime: BareRuntime, chat: Chat) -> None:
    prediction = await (await opened(runtime, mode="local")).answer(QUERY)
    kinds = [context.kind for context in prediction.contexts]
    assert list(dict.fromkeys(kinds)) == ["summary", "triplet", "passage"]
    assert kinds == sorted(kinds, key=["summary", "triplet", "passage"].index)
    assert chat.prompts == [answer_messages(QUERY.text, prediction.contexts, "short")]
    assert runtime.stages == ["embed_query", "retrieve", "generate"]
    relations = [context.text for context in of_kind(prediction.contexts, "triplet") if context.score is None]
    assert relations[0] == "Tidewright Power built Gull Sound (The Harbour Post)"
    assert prediction.trace[0].content.split("\n")[0] in {"Gull Sound", "Tidewright Power"}


async def test_its_entities_are_those_nearest_by_cosine(runtime: BareRuntime) -> None:
    contexts = (await (await opened(runtime, mode="local", top_entities=3)).answer(QUERY)).contexts
    entities = [context for context in contexts if context.kind == "triplet" and context.score is not None]
    embedded = runtime.embedder.documents  # type: ignore[attr-defined]
    question = np.array(bag_of_words(QUERY.text))
    cosines = {text: float(np.array(bag_of_words(text)) @ question) for text in embedded}
    nearest = sorted(cosines, key=lambda text: -cosines[text])[:3]
    assert [context.text.replace(" (The Harbour Post)", "") for context in entities] == nearest
    assert [context.score for context in entities] == pytest.approx([cosines[text] for text in nearest], abs=1e-5)


async def test_a_text_that_stands_in_two_documents_is_a_passage_of_both(bare: BareRuntime) -> None:
    await build(bare, [CORPUS[0], Document(doc_id="copy", text=CORPUS[0].text)])
    contexts = (await (await opened(bare, mode="local")).answer(QUERY)).contexts
    assert {context.doc_ids for context in contexts} == {("array", "copy")}
    (passage,) = of_kind(contexts, "passage")
    assert passage.span is not None
    assert passage.span.doc_id == "array"


async def test_names_of_the_librarys_extraction_are_shown_without_its_quotes(bare: BareRuntime) -> None:
    await build(bare, extractor="nano")
    contexts = (await (await opened(bare, mode="local")).answer(QUERY)).contexts
    triplets = [context.text for context in of_kind(contexts, "triplet")]
    assert "GULL SOUND (organization): Gull Sound is an organization. (The Harbour Post)" in triplets
    assert "Tidewright Power built Gull Sound (The Harbour Post)" in triplets
    assert not any('"' in text or "<SEP>" in text for text in triplets)
