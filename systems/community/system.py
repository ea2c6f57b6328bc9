"""Community-Graph RAG: a graph, its communities and their reports; answers from reports or near entities."""

import math
from collections.abc import Sequence

from harness.core.errors import ModelUnavailable
from harness.core.records import Context, Document, Expected, ExpectedCalls, IndexStats, Prediction, Query, Work
from harness.extraction.nlp import check_pipeline, pipeline_digest
from harness.llm_utils.answer_contract import ABSTENTION, generate
from harness.protocols import EMBEDS, GENERATES, Runtime, SystemSpec, Workload
from systems.common.answers import Found
from systems.common.chunking import check_splitter
from systems.common.expected_calls import (
    PassageFacts,
    answer_call,
    characters_of,
    filler,
    passages_of,
    search,
    typical_question,
)
from systems.common.extraction import english_only, extraction_work
from systems.common.passages import loaded
from systems.community import library
from systems.community.global_search import MAP_MAX_TOKENS, MAX_POINT, MAX_POINTS, map_messages, search_globally
from systems.community.index_building import IndexBuild
from systems.community.library_query import LIBRARY_MAP_TOKENS, query_library, thesis_messages
from systems.community.local_search import search_locally
from systems.community.params import AnswerParams, IndexParams
from systems.community.reports import (
    MAX_EXPLANATION,
    MAX_FINDINGS,
    MAX_HEADLINE,
    MAX_SUMMARY,
    MAX_TITLE,
    REPORT_MAX_TOKENS,
    report_messages,
)
from systems.community.stored_index import StoredIndex

_ENTITIES_A_CHUNK = 10
"""Ten triplets per chunk join at most about ten new entities."""
_COMMUNITIES_A_CHUNK = {"largest": 1, "all": 3}
"""A community of the largest component has up to ten entities; other components, which triplets of small models
leave in great number, have three or four.
"""
_NAME_CHARACTERS = 25
_TABLE_CHARACTERS = 3500
"""Characters of a report's tables: ten entities and about twenty relations at 110 characters per row, with
sources.
"""
_REPORT_CHARACTERS = (MAX_TITLE + MAX_SUMMARY + MAX_FINDINGS * (MAX_HEADLINE + MAX_EXPLANATION)) // 2
"""Reports are assumed to have half of the maximum length."""
_CHARACTERS_A_TOKEN = 4
_LIBRARY_TOKENS = 4096
"""`max_tokens` of the library's prompts, see `triplet_extraction` and `reports`."""
_LIBRARY_REPORT_PROMPT, _LIBRARY_REPORT, _LIBRARY_MAP_PROMPT = 7300, 4000, 2500
"""Characters of the library's prompt for a report, of such a report (assumed), and of its map prompt."""
_MOST = "{} per chunk, with a report each; the actual number is known once the graph is built"


def expect(index: IndexParams, answer: AnswerParams, workload: Workload) -> Expected:
    passages = passages_of(workload.corpus, index)
    entities = passages.count * _ENTITIES_A_CHUNK
    calls, notes = _extraction(passages, index)
    built = Work(
        calls=(*calls, *_reports(passages, index)),
        embedded_texts=entities,
        embedded_characters=entities * _NAME_CHARACTERS,
    )
    reports = _most_reports(passages, index)
    report = _LIBRARY_REPORT if index.reports == "library" else _REPORT_CHARACTERS
    query = _global(reports, report, answer, workload) if answer.mode == "global" else _local(answer, workload)
    most = "a community" if index.components == "largest" else f"{_COMMUNITIES_A_CHUNK['all']} communities"
    return Expected(index=built, query=query, most=_MOST.format(most), notes=notes)


def _most_reports(passages: PassageFacts, index: IndexParams) -> int:
    return passages.count * _COMMUNITIES_A_CHUNK[index.components]


def _extraction(passages: PassageFacts, index: IndexParams) -> tuple[tuple[ExpectedCalls, ...], tuple[str, ...]]:
    if index.extractor != "nano":
        return extraction_work(passages, index.extractor)
    if not passages.count:
        return (), ()
    # One call per chunk, one per gleaning and one between two gleanings; the library's prompt has about 8,000
    # characters, and each turn repeats the previous ones.
    call = ExpectedCalls(
        calls=passages.count * max(1, 2 * index.max_gleaning),
        input_characters=8000 + passages.mean_shown,
        output_tokens_most=_LIBRARY_TOKENS,
    )
    return (call,), ("nano-graphrag's own prompts are assumed to have 8,000 characters",)


def _reports(passages: PassageFacts, index: IndexParams) -> tuple[ExpectedCalls, ...]:
    if index.reports == "rules" or not passages.count:
        return ()
    tables = min(_TABLE_CHARACTERS, index.report_tokens * _CHARACTERS_A_TOKEN)
    is_library = index.reports == "library"
    prompt = _LIBRARY_REPORT_PROMPT if is_library else characters_of(report_messages(""))
    call = ExpectedCalls(
        calls=_most_reports(passages, index),
        input_characters=prompt + tables,
        output_tokens_most=_LIBRARY_TOKENS if is_library else REPORT_MAX_TOKENS,
    )
    return (call,)


def _global(most: int, report: int, answer: AnswerParams, workload: Workload) -> Work:
    """A map call for each batch of reports of `report` characters, then the generation from the points."""
    reports = min(answer.max_reports, most)
    if not reports:
        return Work()
    is_library = answer.engine == "library"
    question = typical_question(workload.queries)
    room = answer.context_tokens * _CHARACTERS_A_TOKEN
    batches = math.ceil(reports / max(1, room // report))
    template = len(question) + _LIBRARY_MAP_PROMPT if is_library else characters_of(map_messages(question, []))
    mapped = ExpectedCalls(
        calls=batches,
        input_characters=template + min(room, reports * report / batches),
        output_tokens_most=LIBRARY_MAP_TOKENS if is_library else MAP_MAX_TOKENS,
    )
    points = min(batches * MAX_POINTS, room // MAX_POINT)
    return Work(calls=(mapped, answer_call(workload, filler(points, MAX_POINT), answer.prompts)))


def _local(answer: AnswerParams, workload: Workload) -> Work:
    full = Context(text="x" * (answer.context_tokens * _CHARACTERS_A_TOKEN), doc_ids=())
    return search(workload, [answer_call(workload, [full], answer.prompts)])


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
        return await IndexBuild(self._runtime, chat, self._index_params).run(corpus)

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
        return found.prediction(answer)

    async def _search(self, index: StoredIndex, query: Query) -> Found:
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
