from collections.abc import Sequence
from pathlib import Path
from typing import Any

import asking
import numpy as np
import pytest
from runtimes import BareRuntime, Chat, Embedder

from harness.core.errors import ConfigError
from harness.core.records import Document, IndexStats, Prediction
from systems.raptor.summary_tree import SoftClusters, frequent_sentences
from systems.raptor.system import SPEC, AnswerParams, IndexParams

CORPUS = [
    Document(doc_id=f"{animal} {number}", text=f"The {animal} of chapter {number} lives in the {place}.")
    for animal, place in (("otter", "river"), ("heron", "marsh"))
    for number in range(6)
]


def near(text: str) -> tuple[float, float]:
    """Otters lie near (1, 0), herons near (0, 1), each chapter a little further away."""
    angle = 0.01 * sum(int(word) for word in text.split() if word.isdigit())
    return (np.cos(angle), np.sin(angle)) if "otter" in text else (np.sin(angle), np.cos(angle))


async def indexed(
    folder: Path, chat: Chat | None = None, corpus: Sequence[Document] = CORPUS, **index: Any
) -> IndexStats:
    return await asking.indexed(SPEC, BareRuntime(folder, chat, Embedder(near)), corpus, index)


async def answered(folder: Path, **answer: Any) -> Prediction:
    runtime = BareRuntime(folder, None, Embedder(near))
    return await asking.asked(SPEC, runtime, "Where do otters of chapter 0 live?", **answer)


async def test_each_cluster_has_a_summary_that_is_retrieved_with_the_passages(tmp_path: Path) -> None:
    stats = await indexed(tmp_path, summary_tokens=20)
    assert (stats.chunks, stats.nodes, stats.edges, stats.notes) == (12, 14, 12, ())
    prediction = await answered(tmp_path, top_k=7)
    kinds = [context.kind for context in prediction.contexts]
    assert sorted(kinds) == ["passage"] * 6 + ["summary"]
    assert all(doc_id.startswith("otter") for context in prediction.contexts for doc_id in context.doc_ids)
    (summary,) = (context for context in prediction.contexts if context.kind == "summary")
    # A sentence has ten tokens: two fit.
    assert summary.text == "\n".join(document.text for document in CORPUS[:2])
    assert (summary.doc_ids, summary.span) == (("otter 0", "otter 1"), None)
    assert [step.name for step in prediction.trace] == ["layer 1", "layer 0"]
    assert prediction.retrieved is not None
    assert len(prediction.retrieved) == 12


async def test_traversal_descends_from_the_best_summary_to_its_best_child(tmp_path: Path) -> None:
    await indexed(tmp_path, summary_tokens=20)
    prediction = await answered(tmp_path, top_k=1, tree="traversal")
    assert [(context.kind, context.doc_ids) for context in prediction.contexts] == [
        ("passage", ("otter 0",)),
        ("summary", ("otter 0", "otter 1")),
    ]


async def test_a_tree_that_does_not_converge_ends_with_a_note(tmp_path: Path) -> None:
    # Two passages of 150 words are more than a cluster may hold.
    long = [Document(doc_id=str(number), text=f"{'otter ' * 150}{number}") for number in range(12)]
    stats = await indexed(tmp_path, corpus=long, cluster_tokens=200)
    assert (stats.nodes, stats.edges) == (12, 0)
    assert ["does not converge" in note for note in stats.notes] == [True]
    assert len((await answered(tmp_path)).contexts) == 10


async def test_a_model_writes_summaries_and_rules_those_that_fail(tmp_path: Path) -> None:
    def reply(asked: Any) -> str:
        if "heron" in asked.text:
            raise ConnectionError("this call failed")
        return "All of the otter 0 chapters are about rivers."

    chat = Chat(reply)
    stats = await indexed(tmp_path, chat, summaries="model")
    assert len(chat.calls) == 2
    assert len(stats.notes) == 1
    (summary,) = (one for one in (await answered(tmp_path, top_k=7)).contexts if one.kind == "summary")
    assert summary.text == "All of the otter 0 chapters are about rivers."
    assert set(summary.doc_ids) == {f"otter {number}" for number in range(6)}


def test_frequent_sentences_are_chosen_and_then_those_that_say_something_else() -> None:
    sentences = ["otter otter river", "otter river", "heron marsh reed reed"]
    # Of nine words: otter 3, river 2, reed 2. The first sentence has mean 8/27, the second 5/18. Then otter is 1/9
    # and river 4/81, so that reed, 2/9, is the most probable word.
    assert frequent_sentences(sentences, [1, 1, 1], budget=2) == [0, 2]
    assert frequent_sentences(sentences, [9, 1, 1], budget=2) == [0]
    assert frequent_sentences(["?", "!"], [1, 1], budget=2) == [0]
    assert frequent_sentences([], [], budget=2) == []


def test_clusters_of_equal_vectors_keep_to_the_limit_and_hold_every_vector() -> None:
    clusters = SoftClusters(most_tokens=30, seed=1).of(np.ones((40, 5), dtype=np.float32), np.full(40, 10))
    assert all(len(cluster) <= 3 for cluster in clusters)
    assert set(np.concatenate(clusters)) == set(range(40))


def test_traversal_by_words_is_refused() -> None:
    assert SPEC.preflight is not None
    SPEC.preflight(IndexParams(), AnswerParams(tree="traversal"))
    with pytest.raises(ConfigError, match=r"answer\.search"):
        SPEC.preflight(IndexParams(), AnswerParams(tree="traversal", search="bm25"))
