"""LightRAG: a graph of entities and relations besides the passages, searched with two levels of keywords."""

from collections.abc import Sequence

from harness.core.errors import ModelUnavailable
from harness.core.records import Document, IndexStats, Prediction, Query
from harness.llm_utils.answer_contract import ABSTENTION
from harness.protocols import EMBEDS, GENERATES, Runtime, SystemSpec
from systems.common.chunking import check_splitter
from systems.common.loaded import loaded
from systems.lightrag import library
from systems.lightrag.expected_calls import expect
from systems.lightrag.index_building import build_index
from systems.lightrag.params import AnswerParams, IndexParams
from systems.lightrag.retrieval import OpenedIndex


class LightRAGSystem:
    def __init__(self, index: IndexParams, answer: AnswerParams, runtime: Runtime) -> None:
        self._index_params = index
        self._answer_params = answer
        self._runtime = runtime
        self._opened: OpenedIndex | None = None

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        """Extract a graph from every chunk, merge it, embed entities, relations and chunks."""
        if self._runtime.chat is None:
            fix = "set models.generator.provider, or use a system with passages only"
            raise ModelUnavailable("lightrag builds its index with a generator", fix)
        return await build_index(self._runtime, self._runtime.chat, self._index_params, corpus)

    async def load(self) -> None:
        self._opened = await OpenedIndex.open(self._runtime, self._answer_params)

    async def answer(self, query: Query) -> Prediction:
        """Search like the library, then generate once; without a result, abstain without a call."""
        contexts, trace = await loaded(self._opened).find(query.text)
        if contexts or self._runtime.chat is None:
            answer = await self._runtime.answer(query.text, contexts)
        else:
            answer = ABSTENTION
        return Prediction(answer=answer, contexts=contexts, trace=trace)

    def close(self) -> None:
        if self._opened is not None:
            library.forget()
        self._opened = None


def _preflight(index: IndexParams, _answer: AnswerParams) -> None:
    library.require()
    check_splitter(index)


SPEC = SystemSpec(
    name="lightrag",
    version="2",
    summary="entities, relations and passages by two levels of keywords (lightrag-hku): naive to mix",
    index_params=IndexParams,
    answer_params=AnswerParams,
    build=LightRAGSystem,
    index_roles=EMBEDS | GENERATES,
    answer_roles=EMBEDS | GENERATES,
    preflight=_preflight,
    expect=expect,
)
