"""Community-Graph RAG: a graph, its communities and their reports; answers from reports or near entities."""

from collections.abc import Sequence

from harness.core.errors import ModelUnavailable
from harness.core.records import Document, IndexStats, Prediction, Query
from harness.extraction.nlp import check_pipeline, pipeline_digest
from harness.llm_utils.answer_contract import ABSTENTION, generate
from harness.protocols import EMBEDS, GENERATES, Runtime, SystemSpec
from systems.common.chunking import check_splitter
from systems.common.extraction.extractor import english_only
from systems.common.loaded import loaded
from systems.community import library
from systems.community.expected_calls import expect
from systems.community.global_search import search_globally
from systems.community.index_building import build_index
from systems.community.library_query import query_library, thesis_messages
from systems.community.local_search import search_locally
from systems.community.params import AnswerParams, IndexParams
from systems.community.stored_index import StoredIndex
from systems.community.text_units import FoundUnits


class CommunitySystem:
    def __init__(self, index: IndexParams, answer: AnswerParams, runtime: Runtime) -> None:
        self._index_params = index
        self._answer_params = answer
        self._runtime = runtime
        self._stored: StoredIndex | None = None

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        """Extract and divide a graph, report on every community, embed the entities."""
        # With rules no phase of the index names the generator, so it must not be requested.
        chat = self._runtime.chat if self._index_params.asks_model else None
        if chat is None and self._index_params.asks_model:
            fix = "set models.generator.provider, or index.extractor=nlp and index.reports=rules"
            raise ModelUnavailable("community builds this index with a generator", fix)
        return await build_index(self._runtime, chat, self._index_params, corpus)

    async def load(self) -> None:
        self._stored = await StoredIndex.open(self._runtime.index_dir)

    async def answer(self, query: Query) -> Prediction:
        """Search, then generate once; without a result, abstain without a call, as the library does."""
        found = await self._search(loaded(self._stored), query)
        if self._runtime.chat is not None and not found.contexts:
            answer: str | None = ABSTENTION
        elif self._answer_params.prompts == "thesis":
            answer = await generate(self._runtime, thesis_messages(self._answer_params.mode, query.text, found))
        else:
            answer = await self._runtime.answer(query.text, found.contexts)
        return Prediction(answer=answer, contexts=found.contexts, trace=found.trace)

    async def _search(self, index: StoredIndex, query: Query) -> FoundUnits:
        params = self._answer_params
        # Without a generator there is no map step: reports come as they are ranked.
        if params.engine == "library" and (self._runtime.chat is not None or params.mode == "local"):
            search = query_library
        else:
            search = search_globally if params.mode == "global" else search_locally
        return await search(self._runtime, index, params, query)

    def close(self) -> None:
        self._stored = None


def _preflight(index: IndexParams, _answer: AnswerParams) -> None:
    library.require()
    check_splitter(index)
    if index.extractor == "nlp":
        check_pipeline(None)


SPEC = SystemSpec(
    name="community",
    version="4",
    summary="graph, communities, reports (nano-graphrag): map over reports and reduce, or search near entities",
    also_called=("graphrag", "microsoft-graphrag", "ms-graphrag", "nano-graphrag"),
    index_params=IndexParams,
    answer_params=AnswerParams,
    build=CommunitySystem,
    # Later changes affect answers, but not stored indexes.
    index_kind="community/3",
    index_roles=lambda index: EMBEDS | GENERATES if index.asks_model else EMBEDS,
    answer_roles=lambda _, answer: EMBEDS | GENERATES if answer.mode == "local" else GENERATES,
    weights=lambda index: {"parser": pipeline_digest(None)} if index.extractor == "nlp" else {},
    english_only=english_only,
    preflight=_preflight,
    expect=expect,
)
