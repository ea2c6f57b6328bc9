"""A built index, and the runtime around it."""

import asyncio
from pathlib import Path

import pytest
from runtimes import BareRuntime, Chat, Embedder

from tests.systems.community.scripted import answer_by_rule, build


@pytest.fixture
def chat() -> Chat:
    """Answers by the rules of `scripted`."""
    return Chat(answer_by_rule)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The folder with CORPUS indexed, and what was embedded for it."""
    folder, embedder = tmp_path_factory.mktemp("stored"), Embedder()
    asyncio.run(build(BareRuntime(folder, Chat(answer_by_rule), embedder)))
    return folder, embedder.documents


@pytest.fixture
def runtime(stored: tuple[Path, list[str]], chat: Chat) -> BareRuntime:
    """With CORPUS indexed, and no call noted yet."""
    folder, documents = stored
    embedder = Embedder()
    embedder.documents += documents
    return BareRuntime(folder, chat, embedder)
