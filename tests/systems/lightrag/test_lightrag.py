import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harbour_corpus import QUERY, TEXTS
from runtimes import Asked, BareRuntime, Chat

from harness.core.errors import MissingDependency, ModelUnavailable
from harness.core.records import Document, Prediction, Query
from harness.llm_utils.answer_contract import ABSTENTION
from harness.llm_utils.structured_output import Unreadable
from systems.lightrag import library
from systems.lightrag.library import pick_nearest
from tests.systems.lightrag import scripted
from tests.systems.lightrag.scripted import MODES, REPEATED, answer_by_rule, build, opened

# The first of them in a process waits for LightRAG's import for seconds.
ROOT = Path(__file__).resolve().parents[3]


async def answered(runtime: BareRuntime, asked: Query = QUERY, **params: Any) -> Prediction:
    """The answer of the opened index."""
    system = await opened(runtime, **params)
    try:
        return await system.answer(asked)
    finally:
        system.close()


def except_for(words: str, reply: Callable[[Asked], str]) -> Chat:
    """Answers by rule, but prompts with these words by `reply`."""
    return Chat(lambda asked: reply(asked) if words in asked.text else answer_by_rule(asked))


def raising(error: Exception) -> Callable[[Asked], str]:
    def reply(_: Asked) -> str:
        raise error

    return reply


@pytest.mark.slow
@pytest.mark.parametrize("extraction", ["text", "json"])
async def test_the_index_counts_what_it_holds_in_both_forms(
    bare: BareRuntime, chat: Chat, extraction: str, capfd: pytest.CaptureFixture[str]
) -> None:
    handlers = logging.getLogger().handlers[:]
    stats = await build(bare, extraction=extraction)
    assert (stats.documents, stats.chunks, stats.nodes, stats.edges) == (5, 5, 9, 8)
    assert (stats.failed_chunks, stats.notes) == (0, ())
    assert len(chat.calls) == 10  # A call a chunk, and one that asks what was missed.
    assert (5, 5, "extracting") in bare.told
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger().handlers == handlers


@pytest.mark.slow
async def test_each_mode_finds_what_it_says(runtime: BareRuntime, chat: Chat) -> None:
    kinds, calls = {}, {}
    for mode in MODES:
        chat.calls.clear()
        prediction = await answered(runtime, mode=mode)
        kinds[mode] = {context.kind for context in prediction.contexts}
        calls[mode] = len(chat.calls)
        for context in prediction.contexts:
            assert set(context.doc_ids) <= TEXTS.keys()
            if context.span:
                assert TEXTS[context.span.doc_id][context.span.start : context.span.end] in context.text
            else:
                assert "The Harbour Post" in context.text
        assert prediction.answer == "Ingrid Solvane"
        if mode == "hybrid":
            found = {context.text: context.doc_ids for context in prediction.contexts}
            assert found["Tidewright Power built Gull Sound. (The Harbour Post)"] == ("array", "again")
            assert found["Ingrid Solvane leads Tidewright Power. (The Harbour Post)"] == ("array",)
    assert kinds == {mode: {"passage"} if mode == "naive" else {"triplet", "passage"} for mode in MODES}
    # Keywords are a call, an answer is one; nothing else is asked.
    assert calls == {mode: 1 if mode == "naive" else 2 for mode in MODES}


@pytest.mark.slow
async def test_questions_that_are_under_way_at_once_are_counted_each_for_itself(runtime: BareRuntime) -> None:
    """The library's own queue calls models from a task of the first question."""
    import contextvars

    current: contextvars.ContextVar[str] = contextvars.ContextVar("current", default="nobody")
    charged: list[tuple[str, str]] = []

    def reply(asked: Asked) -> str:
        charged.append((current.get(), "keywords" if asked.json_schema else "answer"))
        return answer_by_rule(asked)

    runtime.chat = Chat(reply)
    system = await opened(runtime)

    async def ask(name: str) -> None:
        current.set(name)
        await system.answer(Query(query_id=name, text=f"{QUERY.text} {name}"))

    await asyncio.gather(*(ask(name) for name in ("a", "b", "c")))
    system.close()
    assert sorted(charged) == [(name, what) for name in ("a", "b", "c") for what in ("answer", "keywords")]


@pytest.mark.slow
async def test_where_no_keyword_is_named_nothing_is_found_and_the_record_says_so(runtime: BareRuntime) -> None:
    runtime.chat = Chat(lambda asked: '{"high_level_keywords": [], "low_level_keywords": []}')
    system = await opened(runtime)
    asked = Query(query_id="q", text=f"{QUERY.text} Or did somebody else build it?")
    prediction = await system.answer(asked)
    system.close()
    assert (prediction.answer, prediction.contexts) == (ABSTENTION, ())
    assert prediction.trace[0].content.startswith("nothing")


@pytest.mark.slow
async def test_what_the_library_makes_of_a_text_changes_no_place_in_it(bare: BareRuntime) -> None:
    """It unescapes HTML each time that it cleans a text, and takes markup for its own."""
    texts = (
        "A &amp;amp;lt;b&amp;gt; c",
        "A &amp;lt;b&gt; c",
        "x <SEP> y",
        "<drawing id='1' src='/etc/passwd'/> z",
        "&" + "amp;" * 500,
    )
    corpus = [Document(doc_id=f"d{number}", text=text) for number, text in enumerate(texts)]
    assert (await build(bare, corpus)).chunks == 6
    found = (
        await answered(bare, mode="naive", asked=Query(query_id="q", text="A lt b c x SEP y drawing id z amp"))
    ).contexts
    assert len(found) > 3
    for context in found:
        assert context.span is not None
        place = context.span
        assert texts[int(place.doc_id[1:])][place.start : place.end] == context.text


@pytest.mark.slow
@pytest.mark.parametrize("extraction", ["text", "json"])
async def test_what_a_cut_off_reply_holds_is_in_the_graph_and_counted(bare: BareRuntime, extraction: str) -> None:
    def begun(asked: Asked) -> str:
        return answer_by_rule(asked).partition("relation")[0]

    bare.chat = except_for("Marten Oake runs", begun)
    stats = await build(bare, extraction=extraction, max_gleaning=0)
    assert (stats.failed_chunks, stats.chunks, stats.nodes) == (0, 5, 9)
    assert stats.notes == ("1 replies of extraction are truncated: LightRAG used their readable part",)


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["[" * 100_000, '{"entities":' * 50_000, "\x00{"])
async def test_no_reply_ends_the_build_by_how_it_is_broken(bare: BareRuntime, broken: str) -> None:
    bare.chat = except_for("Marten Oake runs", lambda _: broken)
    stats = await build(bare, extraction="json", max_gleaning=0)
    assert (stats.failed_chunks, stats.nodes) == (1, 7)


@pytest.mark.slow
@pytest.mark.parametrize("fails", [False, True])
async def test_many_descriptions_are_joined_by_the_model_or_counted_as_lost(
    bare: BareRuntime, fails: bool
) -> None:
    failing = raising(OSError("the line is dead"))
    bare.chat = chat = except_for("Description List", failing if fails else answer_by_rule)
    stats = await build(bare, REPEATED)
    joined = [call for call in chat.calls if "Description List" in call.text]
    assert (stats.nodes, stats.failed_chunks, len(joined)) == (11, 0, 1)
    lost = (
        "1 lists of descriptions could not be summarised and are lost",
        "the first failure: OSError: the line is dead",
    )
    assert stats.notes == (lost if fails else ())
    texts = [context.text for context in (await answered(bare, mode="local")).contexts]
    assert any("A summary." in text for text in texts) != fails


@pytest.mark.slow
async def test_what_no_call_can_survive_ends_the_build_as_it_is(bare: BareRuntime) -> None:
    bare.chat = except_for("Marten Oake runs", raising(ModelUnavailable("the key was refused", "set another")))
    with pytest.raises(ModelUnavailable, match="the key was refused"):
        await build(bare)


@pytest.mark.slow
async def test_keywords_that_cannot_be_read_are_an_error_and_no_abstention(runtime: BareRuntime) -> None:
    runtime.chat = Chat(lambda _: "no JSON at all")
    with pytest.raises(Unreadable):
        await answered(runtime)


@pytest.mark.slow
def test_two_processes_ask_and_answer_the_same_whatever_lies_about(tmp_path: Path) -> None:
    """The order of sets differs between them; one has settings of the library around it."""
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    settings = {
        "TOP_K": "1",
        "ENTITY_TYPES": "['x']",
        "SUMMARY_LANGUAGE": "Klingon",
        "MAX_GLEANING": "0",
        "WORKSPACE": "../elsewhere",
        "USER_PROMPT_PREFIX": "Obey.",
    }
    (hostile / ".env").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    digests = []
    # In a file all of them, in the environment some.
    for number, (folder, own) in enumerate([(tmp_path, {}), (hostile, dict(list(settings.items())[:3]))]):
        path = os.pathsep.join([str(ROOT), str(ROOT / "tests" / "support")])
        environment = {**os.environ, **own, "PYTHONPATH": path, "PYTHONHASHSEED": str(number)}
        done = subprocess.run(
            [sys.executable, scripted.__file__, str(tmp_path / f"index{number}")],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        digests.append(done.stdout)
    assert len(set(digests)) == 1
    assert sorted(path.name for path in hostile.iterdir()) == [".env"]


class Vectors:
    """Of chunks, by their ids."""

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self._vectors = vectors

    async def get_vectors_by_ids(self, ids: list[str]) -> dict[str, list[float]]:
        return {one: self._vectors[one] for one in ids if one in self._vectors}


async def embed(_texts: list[str], **_: object) -> list[list[float]]:
    return [[1.0, 0.0]]


async def picked(vectors: dict[str, list[float]], number: int, named: list[list[str]]) -> list[str]:
    info = [{"sorted_chunks": ids} for ids in named]
    return await pick_nearest(
        query="q", chunks_vdb=Vectors(vectors), num_of_chunks=number, entity_info=info, embedding_func=embed
    )


async def test_equal_ones_come_in_corpus_order_and_none_twice() -> None:
    vectors = {"c": [1.0, 0.0], "a": [0.0, 1.0], "b": [2.0, 0.0], "d": [1.0, 1.0]}
    assert await picked(vectors, 3, [["d", "c"], ["b", "a", "c"]]) == ["b", "c", "d"]


@pytest.mark.parametrize(("number", "named"), [(0, [["a"]]), (3, []), (3, [[]]), (3, [["a", "gone"]])])
async def test_there_may_be_none(number: int, named: list[list[str]]) -> None:
    assert await picked({"a": [1.0, 0.0]}, number, named) == []


@pytest.mark.slow
async def test_it_picks_what_the_library_picks() -> None:
    library.load()
    theirs = import_module("lightrag.utils").pick_by_vector_similarity
    rows = np.random.default_rng(2).normal(size=(60, 8))
    vectors = {f"{number:03d}": row.tolist() for number, row in enumerate(rows)}
    query = np.random.default_rng(3).normal(size=8)
    info = [{"sorted_chunks": list(vectors)[start : start + 20]} for start in (0, 10, 40)]
    given: dict[str, Any] = {
        "query": "q",
        "chunks_vdb": Vectors(vectors),
        "num_of_chunks": 12,
        "entity_info": info,
    }
    given |= {"text_chunks_storage": None, "embedding_func": embed, "query_embedding": query}
    assert await pick_nearest(**given) == await theirs(**given)


@pytest.mark.parametrize(
    ("missing", "installed", "said"),
    [
        ("", "1.4.9", "1.4.9 is installed"),
        ("", "1.6.0", "1.6.0 is installed"),
        ("nano_vectordb", "1.5.0", "not installed: nano_vectordb"),
        ("lightrag.operate", "1.5.0", "another package called lightrag"),
    ],
)
def test_a_package_that_will_not_do_is_one_line_before_anything_is_paid(
    missing: str, installed: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "version", lambda _: installed)
    monkeypatch.setattr(library, "find_spec", lambda name: None if name == missing else object())
    with pytest.raises(MissingDependency, match=said):
        library.require()
