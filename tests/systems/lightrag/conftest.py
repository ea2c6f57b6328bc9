"""A built index, and the runtime around it."""

import pytest
from runtimes import BareRuntime, Chat

from tests.systems.lightrag.scripted import answer_by_rule, build


@pytest.fixture
def chat() -> Chat:
    """Answers by the rules of `scripted`."""
    return Chat(answer_by_rule)


@pytest.fixture
async def runtime(bare: BareRuntime, chat: Chat) -> BareRuntime:
    """With CORPUS indexed, and no call noted yet."""
    await build(bare)
    chat.calls.clear()
    bare.stages.clear()
    return bare
