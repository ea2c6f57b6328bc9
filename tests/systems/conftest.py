"""Real texts for the parts and systems, where the data files are."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from runtimes import BareRuntime, Chat

from harness.core.records import Document
from harness.datasets import local_files, multihop_rag

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def articles() -> Iterator[tuple[Document, ...]]:
    """MultiHop-RAG's 609 articles, from RAG_HARNESS_DATA, else ../shared/data beside the repository."""
    named = os.environ.get(local_files.ENV)
    folder = Path(named).expanduser() if named else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        why = f"{folder} is missing; point {local_files.ENV} at the folder of data/README.md"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(local_files.ENV, str(folder.resolve()))
        yield multihop_rag.SPEC.load("default").documents


@pytest.fixture
def bare(tmp_path: Path, chat: Chat) -> BareRuntime:
    """Nothing indexed, and the model of the test's folder."""
    folder = tmp_path / "index"
    folder.mkdir()
    return BareRuntime(folder, chat)
