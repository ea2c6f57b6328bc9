"""all-MiniLM-L6-v2 as it is: real weights, real tokenizer."""

import asyncio
from collections.abc import Iterator

import numpy as np
import pytest

from harness.models.minilm_embedder import MINILM_MAX_TOKENS, MiniLM

pytestmark = pytest.mark.slow

TEXTS = [
    "The cat sat on the mat.",
    "A kitten was resting on a rug.",
    "Quarterly revenue grew by twelve percent.",
    "word " * 400,
    "",
    "Ångström 数学 🙂",
]


@pytest.fixture(scope="module")
def model() -> Iterator[MiniLM]:
    yield MiniLM()


def test_rows_are_unit_vectors_of_384_also_for_empty_and_overlong_texts(model: MiniLM) -> None:
    vectors = asyncio.run(model.embed(TEXTS))
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_a_text_has_the_same_vector_alone_and_in_any_batch(model: MiniLM) -> None:
    together = asyncio.run(model.embed(TEXTS))
    for text, row in zip(TEXTS, together, strict=True):
        np.testing.assert_allclose(asyncio.run(model.embed([text]))[0], row, atol=1e-6)


def test_another_number_of_threads_gives_the_same_vectors(model: MiniLM) -> None:
    np.testing.assert_allclose(
        asyncio.run(MiniLM(threads=1).embed(TEXTS)), asyncio.run(model.embed(TEXTS)), atol=1e-6
    )


def test_near_in_meaning_is_near_in_space(model: MiniLM) -> None:
    cat, kitten, revenue, *_ = asyncio.run(model.embed(TEXTS))
    assert cat @ kitten > 0.5
    assert cat @ revenue < 0.2


def test_what_follows_the_token_limit_is_not_seen(model: MiniLM) -> None:
    long = "word " * MINILM_MAX_TOKENS
    one, other = asyncio.run(model.embed([long, long + "and something else entirely"]))
    np.testing.assert_allclose(one, other, atol=1e-6)
