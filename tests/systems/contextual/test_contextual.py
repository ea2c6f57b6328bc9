from pathlib import Path
from typing import Any

import asking
import pytest
from runtimes import Asked, BareRuntime, Chat, Embedder

from harness.core.records import Document, IndexStats, Prediction
from harness.protocols import EMBEDS, GENERATES, Roles
from systems.common.chunking import Chunk, ChunkParams, iter_chunks
from systems.common.search import TopKParams
from systems.contextual.system import SPEC, IndexParams, excerpt, heading_contexts

MANUAL = """Opening words, before any heading, about pumps in general.

# Installation
Place the pump on level ground, away from any heater.

## Wiring
Connect the green wire first and the red wire last of all.

# Care
Clean the filter once a week with cold water and a brush.
"""
CORPUS = [
    Document(doc_id="manual", title="Tide pump", text=MANUAL, metadata={"source": "Ottermoor"}),
    Document(doc_id="note", text="A text of a single line, without a title or a heading."),
]
SMALL = {"chunk_size": 80, "chunk_overlap": 0}


async def indexed(runtime: BareRuntime, **index: Any) -> IndexStats:
    return await asking.indexed(SPEC, runtime, CORPUS, {**SMALL, **index})


async def answered(runtime: BareRuntime, question: str, **answer: Any) -> Prediction:
    return await asking.asked(SPEC, runtime, question, SMALL, **answer)


def chunks() -> list[Chunk]:
    return list(iter_chunks(CORPUS, ChunkParams.model_validate(SMALL)))


def test_a_chunk_has_the_headings_above_it_as_context() -> None:
    assert [chunk.text.strip().splitlines()[-1].split()[0] for chunk in chunks()] == [
        *("Opening", "Place", "Connect", "Clean", "A")
    ]
    # A chunk's own heading is part of the chunk, and above it all the same.
    assert list(heading_contexts(chunks())) == [
        "Tide pump | Ottermoor",
        "Tide pump | Ottermoor\nInstallation",
        "Tide pump | Ottermoor\nInstallation > Wiring",
        "Tide pump | Ottermoor\nCare",
        "",
    ]


async def test_the_context_is_searched_and_the_generator_reads_the_original_chunk(tmp_path: Path) -> None:
    runtime = BareRuntime(tmp_path, None)
    assert (await indexed(runtime)).failed_chunks is None
    assert isinstance(runtime.embedder, Embedder)
    contexts = list(heading_contexts(chunks()))
    assert runtime.embedder.documents == [
        *(f"{context}\n{chunk.text.strip()}" for context, chunk in zip(contexts[:4], chunks()[:4], strict=True)),
        chunks()[4].text,
    ]
    prediction = await answered(runtime, "Installation of red wires", search="bm25", top_k=1)
    (found,) = prediction.contexts
    assert "Installation" not in found.text
    assert found.text == f"Tide pump | Ottermoor\n{chunks()[2].text}"
    assert prediction.trace[0].content.endswith(": Tide pump | Ottermoor | Installation > Wiring")


async def test_a_model_writes_each_context_in_one_call_and_a_failed_one_is_counted(tmp_path: Path) -> None:
    def reply(asked: Asked) -> str:
        if "red wire last" in asked.text.rpartition("Passage of this document")[2]:
            raise ConnectionError("this call failed")
        return "It is about\nzebrafish."

    runtime = BareRuntime(tmp_path, Chat(reply))
    stats = await indexed(runtime, context="model", document_characters=500)
    assert isinstance(runtime.chat, Chat)
    assert len(runtime.chat.calls) == stats.chunks == 5
    assert MANUAL in runtime.chat.calls[0].text
    assert (stats.failed_chunks, len(stats.notes)) == (1, 1)
    prediction = await answered(BareRuntime(tmp_path, None), "zebrafish", search="bm25")
    assert len(prediction.contexts) == 4
    assert not any("zebrafish" in context.text for context in prediction.contexts)
    assert prediction.trace[0].content.count(": It is about zebrafish.") == 4


@pytest.mark.parametrize(("start", "expected"), [(0, "01234"), (4, "23456"), (9, "56789")])
def test_of_a_long_document_the_part_around_the_chunk_is_shown(start: int, expected: str) -> None:
    document = Document(doc_id="d", text="0123456789")
    (chunk,) = iter_chunks([document], ChunkParams())
    span = chunk.span.model_copy(update={"start": start, "end": start + 1})
    assert excerpt(Chunk("c", document.text[start], span, document), 5) == expected
    assert excerpt(chunk, 100) == document.text


def test_only_contexts_by_a_model_need_one_for_the_index() -> None:
    both = EMBEDS | GENERATES
    assert SPEC.roles(IndexParams(), TopKParams()) == Roles(EMBEDS, both)
    assert SPEC.roles(IndexParams(context="model"), TopKParams()) == Roles(both, both)
