"""LightRAG: a graph of entities and relations besides the passages, searched with two levels of keywords."""

from collections.abc import Sequence

from harness.core.errors import ModelUnavailable
from harness.core.records import Context, Document, Expected, ExpectedCalls, IndexStats, Prediction, Query, Work
from harness.llm_utils.answer_contract import ABSTENTION
from harness.protocols import EMBEDS, GENERATES, Runtime, SystemSpec, Workload
from systems.common.chunking import check_splitter
from systems.common.expected_calls import PassageFacts, answer_call, passages_of, search, typical_question
from systems.common.passages import loaded
from systems.lightrag import library
from systems.lightrag.index_building import IndexBuild
from systems.lightrag.params import KEYWORDS_MAX_TOKENS, AnswerParams, IndexParams
from systems.lightrag.retrieval import OpenedIndex

_EXTRACTION_CHARACTERS = 9_000
"""Characters of the library's instructions for one chunk."""
_KEYWORDS_CHARACTERS = 3_000
"""Characters of the library's instructions for the keywords of a question."""
_RECORDS_A_CHUNK = 20
"""Entities and relations that a capable model finds in a chunk of typical size."""
_RECORD_CHARACTERS = 150
_CHARACTERS_A_TOKEN = 4
_INSTRUCTIONS_TOKENS = 1_200
"""Tokens that the library reserves in a prompt for its own instructions, which are not sent."""


def expect(index: IndexParams, answer: AnswerParams, workload: Workload) -> Expected:
    passages = passages_of(workload.corpus, index)
    return Expected(
        index=_index(passages, index),
        query=_query(passages, answer, workload),
        most=f"{'a chunk needs two calls, ' if index.max_gleaning else ''}every prompt is full",
        notes=(
            f"LightRAG's own prompts are assumed to have {_EXTRACTION_CHARACTERS:,} characters, a chunk "
            f"{_RECORDS_A_CHUNK} entities and relations",
            "calls that summarise the descriptions of frequent entities are not counted",
        ),
    )


def _index(passages: PassageFacts, index: IndexParams) -> Work:
    if not passages.count:
        return Work()
    call = ExpectedCalls(
        calls=passages.count * (1 + index.max_gleaning),
        input_characters=_EXTRACTION_CHARACTERS + passages.mean_characters,
        output_tokens_most=index.reply_tokens,
    )
    records = passages.count * _RECORDS_A_CHUNK
    chunks = passages.embedding()
    return Work(
        calls=(call,),
        embedded_texts=chunks.embedded_texts + records,
        embedded_characters=chunks.embedded_characters + records * _RECORD_CHARACTERS,
    )


def _query(passages: PassageFacts, answer: AnswerParams, workload: Workload) -> Work:
    calls, searches = [], 1
    room = max(0, answer.context_tokens - _INSTRUCTIONS_TOKENS) * _CHARACTERS_A_TOKEN
    if answer.mode == "naive":
        shown = passages.retrieved(min(answer.chunk_top_k, max(1, int(room / max(passages.mean_shown, 1)))))
    else:
        question = typical_question(workload.queries)
        length = _KEYWORDS_CHARACTERS + len(question)
        calls = [ExpectedCalls(calls=1, input_characters=length, output_tokens_most=KEYWORDS_MAX_TOKENS)]
        searches = 2 if answer.mode in ("local", "global") else 3
        shown = [Context(text="x" * room, doc_ids=())]
    return search(workload, [*calls, answer_call(workload, shown)], searches=searches)


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
        return await IndexBuild(self._runtime, self._runtime.chat, self._index_params).run(corpus)

    async def load(self) -> None:
        self._opened = await OpenedIndex.open(self._runtime, self._answer_params)

    async def answer(self, query: Query) -> Prediction:
        """Search like the library, then generate once; without a result, abstain without a call."""
        found = await loaded(self._opened).find(query.text)
        if found.contexts or self._runtime.chat is None:
            return found.prediction(await self._runtime.answer(query.text, found.contexts))
        return found.prediction(ABSTENTION)

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
