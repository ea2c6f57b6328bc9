"""Embeddings as servers really send them: the same vectors, or a sentence about what was sent instead."""

import base64
import json
import struct
from contextlib import closing
from typing import Any

import numpy as np
import openai
import pytest

from harness.core.errors import ModelUnavailable
from harness.models.embedders import CachedEmbedder
from harness.models.embedding_cache import EmbeddingCache
from harness.models.fake_faults import Reply
from harness.models.metering import Meter, metered
from harness.models.vectors import vectors_of

from .conftest import Lab

pytestmark = pytest.mark.usefixtures("no_tls")

ROWS = [[3.0, 4.0], [0.0, 2.0]]
UNIT = [[0.6, 0.8], [0.0, 1.0]]


def data(rows: list[Any], **more: Any) -> dict[str, Any]:
    return {"data": [{"index": number, "embedding": row, **more} for number, row in enumerate(rows)]}


def packed(row: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(row)}f", *row)).decode()


@pytest.mark.parametrize(
    "reply",
    [
        data(ROWS),
        {"data": data(ROWS)["data"][::-1]},
        {"data": [{"embedding": row} for row in ROWS]},
        data(ROWS, index=0),
        data([packed(row) for row in ROWS]),
        data([[row] for row in ROWS]),
        {"embeddings": ROWS},
        ROWS,
        [{"index": number, "embedding": [row]} for number, row in enumerate(ROWS)],
        {"data": ROWS},
    ],
    ids=[
        "openai",
        "reversed",
        "no index",
        "all index 0",
        "base64",
        "nested",
        "ollama",
        "tei",
        "llama.cpp",
        "rows",
    ],
)
def test_every_shape_holds_the_same_vectors(reply: Any) -> None:
    assert np.allclose(vectors_of(reply, 2), UNIT)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (data([[1.0], None]), "null"),
        (data([[1.0, 0.0], [1.0]]), "different lengths"),
        (data([[[1.0], [2.0]], [[1.0], [2.0]]]), "one vector per token"),
        (data(["not base64!", "x"]), "text instead of numbers"),
        (data([[1.0]]), "2 texts were sent and 1"),
        (data([{"a": 1}, [1.0]]), "no embeddings"),
        (data([[0.0], [1.0]]), "zeros"),
        ({"data": None}, "no embeddings"),
        ([], "no embeddings"),
        (3, "no embeddings"),
    ],
)
def test_another_reply_is_refused_and_says_what_was_sent(reply: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        vectors_of(reply, 2)


REFUSALS = [
    (400, {"message": "invalid request: total number of texts must be at most 3 - received 8"}),
    (400, {"error": {"message": "Requested 350000 tokens, max 300000 tokens per request"}}),
    (400, {"error": {"message": "batch size is invalid, it should not be larger than 3.: input.contents"}}),
    (413, {"error": "Request too large"}),
    (422, {"error": "batch size 32 > maximum allowed batch size 3", "error_type": "Validation"}),
]


@pytest.mark.parametrize(("status", "body"), REFUSALS)
async def test_the_largest_batch_of_a_server_is_learnt(lab: Lab, status: int, body: Any) -> None:
    sizes: list[int] = []

    def respond(path: str, request: bytes) -> Reply:
        sizes.append(n := len(json.loads(request)["input"]))
        refused, embedded = Reply(status, json.dumps(body).encode()), data([[1.0]] * n)
        return refused if n > 3 else Reply(200, json.dumps(embedded).encode())

    with closing(EmbeddingCache(lab.tmp_path / "vectors.sqlite", "e")) as cache, metered(Meter("index")):
        embedder = CachedEmbedder(lab.connect_embedder(lab.serve(respond=respond).base_url), cache, batch_size=8)
        vectors = await embedder.embed_documents([f"text {number}" for number in range(12)])
    assert vectors.shape == (12, 1)
    assert sizes == [8, 4, 2, 2, 2, 2, 2, 2]


async def test_a_single_text_that_is_refused_is_an_error(lab: Lab) -> None:
    respond = lambda path, request: Reply(413, b'{"error": "Request too large"}')  # noqa: E731
    with metered(Meter("index")), pytest.raises(openai.APIStatusError, match="too large"):
        await lab.connect_embedder(lab.serve(respond=respond).base_url).embed(["a long text"])


async def test_vectors_of_another_length_than_the_index_are_one_line_and_nothing_is_lost(
    lab: Lab,
) -> None:
    length = 8
    url = lab.serve(
        respond=lambda path, request: Reply(
            200, json.dumps(data([[1.0] * length] * len(json.loads(request)["input"]))).encode()
        )
    ).base_url
    with closing(EmbeddingCache(lab.tmp_path / "vectors.sqlite", "e")) as cache:
        with metered(Meter("index")):
            await CachedEmbedder(lab.connect_embedder(url), cache, batch_size=8).embed_documents(["a", "b"])
        length = 6
        later = CachedEmbedder(lab.connect_embedder(url), cache, batch_size=8)
        for embedding in (later.embed_query("c"), later.embed_documents(["a", "d"])):
            with metered(Meter("answer/q/0/1")), pytest.raises(ModelUnavailable, match=r"\b6\b.*\b8\b"):
                await embedding
        length = 8
        with metered(Meter("answer/q/0/1")):
            # Also where the journal has the reply of the other model.
            assert (await later.embed_query("c")).shape == (8,)
        with metered(Meter("answer/q/0/1")):
            assert (await later.embed_documents(["a", "d"])).shape == (2, 8)
