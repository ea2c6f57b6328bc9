"""The folder from which transformers reads MiniLM: links to weights that lie in our cache or in the hub's."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hub_mirror import serve_mirror
from tiny_weights import WHOLE, weight_file

from harness.evaluators.bertscore import loading
from harness.evaluators.bertscore.loading import minilm_folder
from harness.models.huggingface_hub_files import MINILM_TOKENIZER, MINILM_TORCH, HubFile
from harness.models.weights import fetch

TOKENIZER = b"words"
TINY_TORCH = replace(weight_file(WHOLE, ()), name="torch", hub=HubFile("org/repo", "model.safetensors"))
TINY_TOKENIZER = replace(weight_file(TOKENIZER, ()), name="tokenizer", hub=HubFile("org/repo", "tokenizer.json"))
MADE_OF_TINY_FILES = f"""
from harness.evaluators.bertscore import loading
from harness.models.huggingface_hub_files import HubFile, WeightFile
loading.MINILM_TORCH, loading.MINILM_TOKENIZER = {TINY_TORCH!r}, {TINY_TOKENIZER!r}
print(loading.minilm_folder())
"""
SCORED = """
from harness.evaluators.bertscore.loading import TokenEncoder
from harness.evaluators.bertscore.loading import load
encoder = TokenEncoder(load("minilm-torch", None))
(vectors,) = encoder.embed(encoder.split("The sky is blue."))
print(vectors.shape)
encoder.close()
"""


def printed(code: str, env: dict[str, str]) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()


def content_of(folder: Path) -> tuple[bytes, bytes]:
    return (folder / "model.safetensors").read_bytes(), (folder / "tokenizer.json").read_bytes()


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Our cache, empty, and of weights only tiny ones."""
    monkeypatch.setenv("RAG_HARNESS_CACHE", str(tmp_path / "own"))
    monkeypatch.setattr(loading, "MINILM_TORCH", replace(TINY_TORCH, hub=None))
    monkeypatch.setattr(loading, "MINILM_TOKENIZER", replace(TINY_TOKENIZER, hub=None))
    return tmp_path / "own" / "weights"


def put_into(own: Path) -> None:
    own.mkdir(parents=True, exist_ok=True)
    (own / "torch").write_bytes(WHOLE)
    (own / "tokenizer").write_bytes(TOKENIZER)


@pytest.mark.slow
def test_the_folder_leads_to_weights_in_the_hubs_cache_and_later_to_our_own(own: Path, tmp_path: Path) -> None:
    with serve_mirror({"model.safetensors": WHOLE, "tokenizer.json": TOKENIZER}) as mirror:
        env = {**mirror.env(tmp_path / "hf"), "RAG_HARNESS_CACHE": str(own.parent)}
        folder = Path(printed(MADE_OF_TINY_FILES, env))
    assert folder.is_relative_to(own)
    assert content_of(folder) == (WHOLE, TOKENIZER)
    assert (folder / "model.safetensors").resolve().is_relative_to(tmp_path / "hf")
    # The hub's cache is cleaned, and the links lead nowhere.
    shutil.rmtree(tmp_path / "hf")
    put_into(own)
    assert minilm_folder() == folder
    assert content_of(folder) == (WHOLE, TOKENIZER)
    assert (folder / "model.safetensors").resolve() == own / "torch"


def test_right_links_are_left_as_they_are_and_still_lead_there_where_the_cache_is_moved(
    own: Path, tmp_path: Path
) -> None:
    put_into(own)
    folder = minilm_folder()
    before = os.lstat(folder / "model.safetensors").st_ino
    assert os.lstat(minilm_folder() / "model.safetensors").st_ino == before
    names = {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert {path.name for path in folder.iterdir()} == names
    own.rename(tmp_path / "moved")
    assert content_of(tmp_path / "moved" / folder.name) == (WHOLE, TOKENIZER)


@pytest.mark.slow
def test_minilm_itself_is_loaded_out_of_the_hubs_cache(tmp_path: Path) -> None:
    files = {"model.safetensors": fetch(MINILM_TORCH), "tokenizer.json": fetch(MINILM_TOKENIZER)}
    with serve_mirror({name: path.read_bytes() for name, path in files.items()}) as mirror:
        env = {**mirror.env(tmp_path / "hf"), "RAG_HARNESS_CACHE": str(tmp_path / "own")}
        # [CLS] the sky is blue . [SEP]
        assert printed(SCORED, env) == "(7, 384)"
    assert len(mirror.downloads()) == 2
    assert {path.name for path in (tmp_path / "own" / "weights").glob("*.verified")} == {
        f"{MINILM_TORCH.name}.verified",
        f"{MINILM_TOKENIZER.name}.verified",
    }
