"""What systems over stored passages share. Naive, recursive, hyde, contextual, crag and agentic differ in how they
answer, and not in what they store.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from harness.core.records import Document, Expected, IndexStats
from harness.protocols import GENERATES, Runtime, System, SystemSpec, Workload
from systems.common.passages import (
    INDEX_KIND,
    PassageParams,
    Passages,
    check_passages,
    index_roles,
    settle_vectors,
)
from systems.common.search import SearchParams

Index = TypeVar("Index", bound=PassageParams)
Answer = TypeVar("Answer", bound=SearchParams)


class PassageSystem(Generic[Index, Answer]):
    """Indexes, opens and closes stored passages; subclasses answer. See `harness.protocols.System`."""

    def __init__(self, index: Index, answer: Answer, runtime: Runtime) -> None:
        self._index_params = index
        self._params = answer
        self._runtime = runtime
        self._passages = Passages(runtime, answer)

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        """Chunk and store, with vectors and keywords."""
        return await self._passages.build(corpus, self._index_params)

    async def load(self) -> None:
        self._passages.open()

    def close(self) -> None:
        self._passages.close()


def passage_system_spec(
    *,
    name: str,
    version: str,
    summary: str,
    answer_params: type[SearchParams],
    build: Callable[[Any, Any, Runtime], System],
    expect: Callable[[Any, Any, Workload], Expected],
    also_called: tuple[str, ...] = (),
    preflight: Callable[[Any, Any], None] = check_passages,
) -> SystemSpec:
    """The spec of a system whose whole index is the passages, which it shares with the others of its kind."""
    return SystemSpec(
        name=name,
        version=version,
        summary=summary,
        also_called=also_called,
        index_params=PassageParams,
        answer_params=answer_params,
        build=build,
        index_roles=index_roles,
        settle=settle_vectors,
        answer_roles=lambda _, answer: answer.search_roles | GENERATES,
        index_kind=INDEX_KIND,
        reranker=lambda answer: answer.rerank,
        preflight=preflight,
        expect=expect,
    )
