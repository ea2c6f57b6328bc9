"""Real texts where the data files are, and the index of a wrapped library, built once for a file of tests."""

import asyncio
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from runtimes import BareRuntime, Chat, Embedder

from harness.core.records import Document
from harness.datasets import local_files, multihop_rag


@pytest.fixture(scope="session")
def articles(data_folder: Path) -> Iterator[tuple[Document, ...]]:
    """MultiHop-RAG's 609 articles."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(local_files.ENV, str(data_folder))
        yield multihop_rag.SPEC.load("default").documents


@pytest.fixture
def bare(tmp_path: Path, chat: Chat) -> BareRuntime:
    """Nothing indexed, and the model of the test's folder."""
    folder = tmp_path / "index"
    folder.mkdir()
    return BareRuntime(folder, chat)


@pytest.fixture(scope="module")
def scripted(request: pytest.FixtureRequest) -> ModuleType:
    """The module of that name beside the tests."""
    return import_module(f"{request.module.__package__}.scripted")


@pytest.fixture
def chat(scripted: ModuleType) -> Chat:
    """Answers by the rules of `scripted`."""
    return Chat(scripted.answer_by_rule)


@pytest.fixture(scope="module")
def stored(scripted: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The folder with CORPUS indexed, and what was embedded for it."""
    folder, embedder = tmp_path_factory.mktemp("stored"), Embedder()
    asyncio.run(scripted.build(BareRuntime(folder, Chat(scripted.answer_by_rule), embedder)))
    return folder, embedder.documents


@pytest.fixture
def runtime(stored: tuple[Path, list[str]], chat: Chat) -> BareRuntime:
    """With CORPUS indexed, and no call noted yet."""
    folder, documents = stored
    embedder = Embedder()
    embedder.documents += documents
    return BareRuntime(folder, chat, embedder)
