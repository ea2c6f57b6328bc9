"""What nano-graphrag 0.0.8.2 does not survive, and this system does."""

import asyncio
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from bounded import at_most
from harbour_corpus import QUERY, TEXTS
from runtimes import Asked, BareRuntime, Chat

from harness.core.records import Document, Query
from systems.community import library
from tests.systems.community.scripted import ENTITIES, Failing, answer_by_rule, build, graph_of, opened, stored

pytestmark = pytest.mark.slow


@pytest.fixture
def graspologic(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two functions that the library takes from graspologic, over the same native code."""
    import graspologic_native
    import networkx as nx

    def hierarchical_leiden(graph: Any, max_cluster_size: int, random_seed: int) -> list[SimpleNamespace]:
        edges = [(a, b, float(weight)) for a, b, weight in graph.edges(data="weight", default=1.0)]
        found = graspologic_native.hierarchical_leiden(edges, max_cluster_size=max_cluster_size, seed=random_seed)
        return [SimpleNamespace(node=one.node, level=one.level, cluster=int(one.cluster)) for one in found]

    def largest_connected_component(graph: Any) -> Any:
        return graph.subgraph(max(nx.connected_components(graph), key=len)).copy()

    package, partition, utils = (ModuleType(f"graspologic{name}") for name in ("", ".partition", ".utils"))
    vars(partition)["hierarchical_leiden"] = hierarchical_leiden
    vars(utils)["largest_connected_component"] = largest_connected_component
    for module in (package, partition, utils):
        monkeypatch.setitem(sys.modules, module.__name__, module)


def documents(number: int) -> list[Document]:
    return [
        Document(doc_id=str(n), text=f"Tidewright Power built Station Number{n}.", title=f"Station {n}")
        for n in range(number)
    ]


# 1. An exception of the model function keeps its slot of the limiter: when all are lost, calls wait for ever.


async def test_more_failing_calls_than_slots_do_not_hold_up_the_index(bare: BareRuntime) -> None:
    failure = RuntimeError("this call failed")
    async with asyncio.timeout(60):
        runtime = BareRuntime(bare.index_dir, Chat(Failing("-Goal-", failure=failure)))
        assert (await build(runtime, documents(40), extractor="nano")).failed_chunks == 40


async def test_an_answer_cut_off_anywhere_leaves_the_next_ones_their_slots(bare: BareRuntime) -> None:
    class Hanging(Chat):
        async def complete(self, *given: Any, **named: Any) -> str:
            await asyncio.sleep(3600 if self.hangs else 0)
            return await super().complete(*given, **named)

        hangs = True

    await build(bare, documents(40))
    chat = Hanging(answer_by_rule)
    system = await opened(BareRuntime(bare.index_dir, chat), context_tokens=200)
    for _ in range(20):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await system.answer(QUERY)
    chat.hangs = False
    async with asyncio.timeout(10):
        assert (await system.answer(QUERY)).answer == "Ingrid Solvane"


# 2. A report that is larger than the map step's budget never fits into a group, and groups are made until all do.


def verbose(asked: Asked) -> str:
    """By rule, with reports of far more than 200 tokens."""
    return answer_by_rule(asked).replace("About ", "and so on " * 400)


async def test_a_report_larger_than_the_budget_is_cut_to_it(bare: BareRuntime) -> None:
    runtime = BareRuntime(bare.index_dir, Chat(verbose))
    await build(runtime)
    reports = [report["report_string"] for report in stored(bare, "kv_store_community_reports").values()]
    assert len(reports) == len([text for text in reports if len(text) > 500])
    with at_most(5, of_cpu=True):
        prediction = await (await opened(runtime, context_tokens=200)).answer(QUERY)
    assert len(prediction.trace) == len(reports)


# 3. A graph without nodes, or with nodes and no edges.


async def test_entities_without_relations_make_an_index_without_communities(bare: BareRuntime) -> None:
    def no_relations(asked: Asked) -> str:
        reply = answer_by_rule(asked)
        return "##".join(part for part in reply.split("##") if "relationship" not in part) + "<|COMPLETE|>"

    runtime = BareRuntime(bare.index_dir, Chat(no_relations))
    stats = await build(runtime, [Document(doc_id="grid", text=TEXTS["grid"])], extractor="nano")
    assert (stats.nodes, stats.edges, stats.communities) == (4, 0, 0)
    runtime.chat = None
    assert (await (await opened(runtime)).answer(QUERY)).contexts == ()
    found = await (await opened(runtime, mode="local")).answer(Query(query_id="q", text="Coldharrow Grid?"))
    assert {context.kind for context in found.contexts} == {"triplet", "passage"}


# What was replaced is the same where both work.


@pytest.mark.usefixtures("graspologic")
async def test_communities_are_those_of_the_librarys_own_clustering(bare: BareRuntime) -> None:
    await build(bare, documents(60))
    config = {"working_dir": str(bare.index_dir), "max_graph_cluster_size": 10, "graph_cluster_seed": bare.seed}
    ours = library.storages().LeidenGraph("chunk_entity_relation", config)
    theirs = library.load().graphrag.NetworkXStorage("chunk_entity_relation", config)
    for storage in (ours, theirs):
        names = {name: name.upper() for name in storage._graph}
        storage._graph = library.storages().nx.relabel_nodes(storage._graph, names)
        storage.global_config["addon_params"] = {"components": "largest"}
        await storage.clustering("leiden")
    divided = [dict(storage._graph.nodes(data="clusters")) for storage in (ours, theirs)]
    assert divided[0] == divided[1]
    assert len(divided[0]) == 61


# `index.extractor=nano`: the library's own extraction.


async def test_the_librarys_extraction_asks_again_for_what_was_missed(bare: BareRuntime, chat: Chat) -> None:
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
async def test_a_chunk_without_records_fails_and_is_left(bare: BareRuntime, failure: Exception | str) -> None:
    chat = Chat(Failing("Salt Opera", failure=failure))
    stats = await build(BareRuntime(bare.index_dir, chat), extractor="nano")
    assert (stats.failed_chunks, stats.nodes) == (1, 6)
    assert len([call for call in chat.calls if "Salt Opera" in call.text]) == 1


@pytest.mark.parametrize("reply", ["A summary.", ""])
async def test_a_long_description_is_summarised_or_counted_as_lost(bare: BareRuntime, reply: str) -> None:
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
