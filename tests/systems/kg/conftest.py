"""kg's corpus, indexed."""

from pathlib import Path

import pytest
from kg_corpus import CORPUS, scripted
from runtimes import BareRuntime, Chat

from systems.common.graph_index import GraphIndexParams
from systems.common.graph_search.params import GraphSearchParams
from systems.kg.system import KgSystem


@pytest.fixture
def runtime(tmp_path: Path) -> BareRuntime:
    return BareRuntime(tmp_path, Chat(scripted))


@pytest.fixture
async def indexed(runtime: BareRuntime) -> BareRuntime:
    """With CORPUS indexed in it, one chunk a document."""
    system = KgSystem(GraphIndexParams(), GraphSearchParams(), runtime)
    await system.index(CORPUS)
    system.close()
    runtime.chat = Chat(scripted)
    return runtime
