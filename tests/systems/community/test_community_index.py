import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from harbour_corpus import CORPUS, QUERY, TEXTS
from runtimes import BareRuntime, Chat

from harness.core.errors import ModelUnavailable
from harness.core.records import Document
from systems.common.token_estimate import count_tokens
from systems.common.wrapped_libraries import SEPARATOR
from systems.community.reports import REPORT_MAX_TOKENS, report_messages
from tests.systems.community import scripted
from tests.systems.community.scripted import (
    ENTITIES,
    Failing,
    answer_by_rule,
    build,
    graph_of,
    reports_asked,
    stored,
)

# Each process that loads nano-graphrag waits for it for seconds.
pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[3]


async def test_an_index_holds_what_it_counts_and_reports_on_its_own_prompt(bare: BareRuntime, chat: Chat) -> None:
    stats = await build(bare)
    assert (stats.documents, stats.chunks, stats.failed_chunks) == (5, 5, 0)
    assert (stats.nodes, stats.edges) == (9, 8)
    assert stats.communities == len(stored(bare, "kv_store_community_reports")) == len(reports_asked(chat)) > 0
    # The text without a statement.
    unreported = "0 of 9 entities and 1 of 5 documents are in no community's report: mode global cannot find them"
    assert stats.notes == (unreported,)
    assert sorted(graph_of(bare)) == ENTITIES
    assert bare.stages == ["chunk", "extract", "embed", "cluster", "report"]
    assert (5, 5, "extracting") in bare.told
    assert bare.told[-1] == (stats.communities, stats.communities, "reporting")
    edge = graph_of(bare).edges["Gull Sound", "Tidewright Power"]
    units = stored(bare, "kv_store_text_chunks")
    sources = [units[unit]["places"][0]["doc_id"] for unit in edge["source_id"].split(SEPARATOR)]
    assert (edge["weight"], sources) == (2.0, ["array", "again"])
    assert edge["description"] == "Tidewright Power built Gull Sound (The Harbour Post)"
    for call in reports_asked(chat):
        material = call.messages[1].content.split("Tables:\n\n")[1].split("\n\nWrite a report")[0]
        assert call.messages == report_messages(material)
        assert material.startswith("-----Reports-----\n```csv")
        assert material.endswith("```")
        assert call.max_tokens == REPORT_MAX_TOKENS
        assert "analyst" not in call.text


async def test_a_text_unit_knows_every_place_it_stands_at(bare: BareRuntime) -> None:
    text = CORPUS[0].text
    twice = [CORPUS[0], Document(doc_id="copy", text=f"{text}\n"), Document(doc_id="same", text=text, title="T")]
    stats = await build(bare, twice)
    assert (stats.documents, stats.chunks, stats.nodes) == (3, 3, 3)
    units = stored(bare, "kv_store_text_chunks").values()
    assert [[place["doc_id"] for place in unit["places"]] for unit in units] == [["array", "same"], ["copy"]]
    assert [place["heading"] for unit in units for place in unit["places"]] == [
        "On array | The Harbour Post",
        "T",
        "",
    ]
    weights = {(a, b): data["weight"] for a, b, data in graph_of(bare).edges(data=True)}
    assert set(weights.values()) == {3.0}


async def test_all_components_are_divided_or_the_largest_and_notes_say_it(
    bare: BareRuntime, tmp_path: Path
) -> None:
    without_lonely = CORPUS[:4]
    assert (await build(bare, without_lonely)).notes == ()
    assert all("clusters" in data for _, data in graph_of(bare).nodes(data=True))
    (tmp_path / "largest").mkdir()
    largest = BareRuntime(tmp_path / "largest", Chat(answer_by_rule))
    assert (await build(largest, without_lonely, components="largest")).notes == (
        "3 of 9 entities and 1 of 4 documents are in no community's report: mode global cannot find them "
        "(index.components=all)",
    )
    theatre = {"Bronze Lamp", "Salt Opera", "Wendeline Marsh"}
    assert {name for name, data in graph_of(largest).nodes(data=True) if "clusters" not in data} == theatre


@pytest.mark.parametrize("weight", [0.0, -5.0, float("inf"), 1e300])
def test_weights_that_the_algorithm_refuses_are_brought_within_its_bounds(weight: float) -> None:
    import networkx as nx

    from systems.community.storages import _divide

    graph = nx.Graph([("a", "b", {"weight": weight}), ("b", "c", {"weight": 1.0})])
    assert _divide(graph, {"max_graph_cluster_size": 10, "graph_cluster_seed": 0}).keys() == {"a", "b", "c"}


async def test_the_tables_of_a_report_keep_to_their_budget(bare: BareRuntime, chat: Chat) -> None:
    names = [
        f"Harbour Company {word}" for word in ("One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight")
    ]
    text = " ".join(f"{a} supplied {b}." for a in names for b in names if a != b)
    await build(bare, [Document(doc_id="d", text=text)], report_tokens=200, chunk_size=400)
    frame = count_tokens(report_messages("")[1].content)
    sizes = [count_tokens(call.messages[1].content) - frame for call in reports_asked(chat)]
    assert 100 < max(sizes) <= 201


@pytest.mark.parametrize("failure", ["Here is the report you asked for.", RuntimeError("no such host")])
async def test_a_report_that_fails_is_counted_and_replaced(bare: BareRuntime, failure: Exception | str) -> None:
    chat = Chat(Failing("You write reports", failure=failure))
    stats = await build(BareRuntime(bare.index_dir, chat))
    note = f"{stats.communities} communities have no report by the model and use a list of their statements"
    assert stats.notes[1] == note
    assert stats.notes[2].startswith("the first failure: ")
    for report in stored(bare, "kv_store_community_reports").values():
        assert report["report_json"]["rating"] == 0
        assert "(The Harbour Post)" in report["report_string"]
        assert any(name in report["report_string"] for name in report["nodes"])
    asked_again = [call for call in reports_asked(chat) if "could not be read" in call.text]
    assert len(asked_again) == (stats.communities if isinstance(failure, str) else 0)


@pytest.mark.parametrize(
    ("extractor", "words"), [("bounded", "Text:"), ("bounded", "You write reports"), ("nano", "MANY entities")]
)
async def test_what_no_call_can_survive_ends_the_build(bare: BareRuntime, extractor: str, words: str) -> None:
    gone = ModelUnavailable("the server is gone", "start it")
    chat = Chat(Failing(words, failure=gone))
    with pytest.raises(ModelUnavailable) as raised:
        await build(BareRuntime(bare.index_dir, chat), extractor=extractor)
    assert raised.value is gone


@pytest.mark.parametrize(
    ("extractor", "texts"), [("bounded", [TEXTS["lonely"]]), ("nano", []), ("nano", ['{"a": {x}} {0} %s', "\t"])]
)
async def test_no_entities_make_an_empty_index(bare: BareRuntime, extractor: str, texts: list[str]) -> None:
    corpus = [Document(doc_id=str(number), text=text) for number, text in enumerate(texts)]
    stats = await build(bare, corpus, extractor=extractor)
    assert (stats.documents, stats.nodes, stats.edges, stats.communities) == (len(texts), 0, 0, 0)
    for mode in ("global", "local"):
        prediction = await (await scripted.opened(bare, mode=mode)).answer(QUERY)
        assert (prediction.answer, prediction.contexts) == ("Insufficient information", ())


def test_builds_are_equal_byte_for_byte_in_processes_that_hash_strings_differently(tmp_path: Path) -> None:
    digests = set()
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests' / 'support'}"}
        command = [sys.executable, str(Path(__file__).with_name("scripted.py")), str(tmp_path / seed)]
        done = subprocess.run(command, env=env, check=True, capture_output=True, text=True, timeout=120)
        digests.add(done.stdout)
    assert len(digests) == 1
    # The library configures the root logger when imported, and every other one would log to the terminal.
    assert re.fullmatch(r"[0-9a-f]{64} \[\]\n", digests.pop())


async def test_statements_name_the_source_and_date_of_what_states_them(bare: BareRuntime, chat: Chat) -> None:
    dated = [{"source": f"Post {n}", "published_at": f"2024-03-0{n}T10:00"} for n in range(1, 6)]
    texts = [TEXTS["array"] + " Nothing more." * n for n in range(5)]
    pairs = zip(texts, dated, strict=True)
    await build(bare, [Document(doc_id=text, text=text, metadata=metadata) for text, metadata in pairs])
    said = "Post 1, 2024-03-01; Post 2, 2024-03-02; Post 3, 2024-03-03; 2 more"
    description = f"Tidewright Power built Gull Sound ({said})"
    assert graph_of(bare).edges["Gull Sound", "Tidewright Power"]["description"] == description
    (asked,) = reports_asked(chat)
    assert description in asked.text
    # What is embedded is what is stated.
    assert not any("Post" in text for text in bare.embedder.documents)  # type: ignore[attr-defined]


async def test_by_rules_an_index_and_its_reports_take_no_call(bare: BareRuntime) -> None:
    bare.chat = None
    text = "Tidewright Power built the Gull Sound station. Ingrid Solvane leads Tidewright Power."
    corpus = [Document(doc_id="d", text=text, metadata={"source": "The Harbour Post"})]
    stats = await build(bare, corpus, extractor="nlp", reports="rules")
    assert stats.communities
    assert stats.failed_chunks == 0
    reports = [report["report_string"] for report in stored(bare, "kv_store_community_reports").values()]
    assert any("Tidewright Power" in report and "(The Harbour Post)" in report for report in reports)
    found = await (await scripted.opened(bare, mode="local")).answer(QUERY)
    assert found.answer is None
    assert {context.kind for context in found.contexts} == {"summary", "triplet", "passage"}


async def test_a_model_reads_triplets_and_rules_write_the_reports(bare: BareRuntime, chat: Chat) -> None:
    stats = await build(bare, reports="rules")
    assert len(chat.calls) == stats.chunks
    for report in stored(bare, "kv_store_community_reports").values():
        assert report["report_json"]["rating"] == 0
        assert report["report_json"]["summary"].count("(The Harbour Post)") == len(report["edges"])
