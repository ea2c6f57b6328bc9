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


def test_what_follows_the_token_limit_is_not_seen(model: MiniLM) -> None:
    long = "word " * MINILM_MAX_TOKENS
    one, other = asyncio.run(model.embed([long, long + "and something else entirely"]))
    np.testing.assert_allclose(one, other, atol=1e-6)
