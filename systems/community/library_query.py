"""The query of nano-graphrag itself, global and local: its map calls, ranking and tables.

The library stops before its last call, which asks for paragraphs of markdown: the answer is generated from what it
found, with the prompts of the run.
"""

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from harness.core.records import Context, Query, Step
from harness.llm_utils.structured_output import Unreadable, integer_of, list_of, object_of, parse_object, string_of
from harness.protocols import Message, Runtime
from systems.common.answers import Found
from systems.common.wrapped_libraries import CONCURRENCY, SEPARATOR, plain
from systems.community import library
from systems.community.global_search import not_read
from systems.community.local_search import GRAPH, PASSAGES, REPORTS
from systems.community.params import AnswerParams
from systems.community.reports import bounded_number, without_rules
from systems.community.stored_index import StoredIndex
from systems.community.text_units import passage

_POINT = object_of({"description": string_of(1000), "score": integer_of(0, 100)})
LIBRARY_MAP_TOKENS = 2000
"""Of a map call with the library's prompt: the library sets no limit, and that of an answer is too small."""
MAP_SCHEMA = object_of({"points": list_of(_POINT, 20)})
"""The library asks for any JSON object; its prompt describes this one."""


async def query_library(runtime: Runtime, index: StoredIndex, params: AnswerParams, query: Query) -> Found:
    """What `GraphRAG.aquery` gives to its last call.

    Raises Unreadable if no point helps and a reply to the map step was invalid, as `search_globally` does.
    """
    return await _LibraryQuery(runtime, index, params).run(query.text)


_REPORT_ROLE = (
    "You answer a question about a collection of documents from the reports of several analysts, each of whom "
    "read another part of it."
)
_TABLE_ROLE = "You answer a question about a collection of documents from tables of what it says."
_GOAL = """\
---Goal---
Write the **one word or entity** that answers the question, as the {material} give it.
If the question asks for yes or no, write **yes** or **no** alone, without a reason.
{order}
Before you answer, set aside what has no bearing on the question. Keep to the question and be brief.
Say nothing that the {material} give no evidence for: write **Insufficient information** instead."""
_REPORT_ORDER = "The **most important report comes first**; rely on those that say most about the question."
_TABLE_ORDER = "Rely on the rows that say most about the question."


def thesis_messages(mode: str, question: str, found: Found) -> list[Message]:
    """The last prompt in the form of the thesis, from what either engine found.

    Listing 4.12 answers from the points of a global search and has the question alone as the user's message. It
    does not show where the reports stand; here they follow under a heading, as in nano-graphrag. The same rules
    hold for the tables of a local search, whose prompt the thesis does not print.
    """
    if mode == "local":
        goal = _GOAL.format(material="tables", order=_TABLE_ORDER)
        shown = found.shown or "\n".join(context.text for context in found.contexts)
        system = f"{_TABLE_ROLE}\n\n{goal}\n\n---Data tables---\n{shown}"
    else:
        goal = _GOAL.format(material="reports", order=_REPORT_ORDER)
        points = (
            f"----Analyst {n}----\nImportance Score: {one.score or 0:g}\n{without_rules(one.text)}\n"
            for n, one in enumerate(found.contexts)
        )
        shown = found.shown or "\n".join(points)
        system = f"{_REPORT_ROLE}\n\n{goal}\n\n---Analyst Reports---\n{shown}"
    return [Message("system", system), Message("user", question)]


class _LibraryQuery:
    """One query with its own library object, so that no state is shared between queries that run at once."""

    def __init__(self, runtime: Runtime, index: StoredIndex, params: AnswerParams) -> None:
        self._runtime = runtime
        self._index = index
        self._params = params
        self._slots = asyncio.Semaphore(CONCURRENCY)
        self._failure: Exception | None = None
        self._near: list[str] = []
        self._replies: list[str] = []
        self._unread = 0

    async def run(self, question: str) -> Found:
        with self._runtime.stage("map" if self._params.mode == "global" else "retrieve"):
            found = await self._library().aquery(question, param=self._query_params())
        if self._failure:
            raise self._failure
        if self._params.mode == "local":
            names = "\n".join(map(plain, self._near))
            contexts = [one async for one in _tables(self._index, self._near, found)] if found else []
            return Found(tuple(contexts), trace=(Step(name="entities", content=names),), shown=found or "")
        if found == library.load().prompt.PROMPTS["fail_response"]:
            if self._unread:
                raise Unreadable(
                    f"{self._unread} of {len(self._replies)} replies to the map step are not a list of points, "
                    "and no point helps"
                )
            return Found(trace=self._trace())
        return Found(_points(found), trace=self._trace(), shown=found)

    def _trace(self) -> tuple[Step, ...]:
        return tuple(Step(name=f"map {n}", content=reply) for n, reply in enumerate(self._replies, start=1))

    def _query_params(self) -> Any:
        params, tokens = self._params, self._params.context_tokens
        return library.load().QueryParam(
            mode=params.mode,
            only_need_context=True,
            level=params.community_level,
            top_k=params.top_entities,
            local_max_token_for_text_unit=int(PASSAGES * tokens),
            local_max_token_for_local_context=int(GRAPH * tokens),
            local_max_token_for_community_report=int(REPORTS * tokens),
            global_max_consider_community=params.max_reports,
            # A report above the budget would give the library empty groups without end.
            global_max_token_for_community_report=max(tokens, self._index.longest_report),
        )

    def _library(self) -> Any:
        """nano-graphrag over the opened stores. It deep-copies its configuration: its functions are closures."""
        index, runtime = self._index, self._runtime

        async def ask(prompt: str, system_prompt: str | None = None, **_: Any) -> str:
            return await self._ask(prompt, system_prompt or "")

        def read(reply: str) -> dict[str, Any]:
            return self._read(reply)

        def entities(**_: Any) -> _Near:
            return _Near(runtime, index, self._near)

        stores = {"text_chunks": index.units, "community_reports": index.reports}
        return library.load().GraphRAG(
            working_dir=str(runtime.index_dir),
            best_model_func=ask,
            best_model_max_async=sys.maxsize,
            embedding_func=library.utilities().EmbeddingFunc(embedding_dim=0, max_token_size=0, func=None),
            convert_response_to_json_func=read,
            key_string_value_json_storage_cls=lambda namespace, **_: stores.get(namespace),
            graph_storage_cls=lambda **_: index.graph,
            vector_db_storage_cls=entities,
            enable_llm_cache=False,
        )

    async def _ask(self, question: str, system: str) -> str:
        """The reply; a failure is raised after the query, for the library would leave its other calls running."""
        chat = self._runtime.chat
        if chat is None:
            raise RuntimeError("a global query of the library needs a generator")
        messages = [Message("system", system), Message("user", question)]
        try:
            async with self._slots:
                return await chat.complete(messages, max_tokens=LIBRARY_MAP_TOKENS, json_schema=MAP_SCHEMA)
        except Exception as error:
            self._failure = self._failure or error
            return ""

    def _read(self, reply: str) -> dict[str, Any]:
        """The points that have a description and a number as their score; the library fails at others, which are
        counted in the trace. A list without any such point is no list of points.
        """
        self._replies.append(reply)
        try:
            listed = parse_object(reply).get("points")
        except ValueError:
            listed = None
        points = [point for one in listed if (point := _point(one))] if isinstance(listed, list) else []
        if not isinstance(listed, list) or (listed and not points):
            self._unread += 1
            return {}
        self._replies[-1] += not_read(len(listed) - len(points))
        return {"points": points}


def _point(one: object) -> dict[str, Any] | None:
    if not isinstance(one, Mapping) or not isinstance(one.get("description"), str):
        return None
    score = bounded_number(one.get("score", 1), 100)
    return None if score is None else {"description": without_rules(one["description"]), "score": score}


class _Near:
    """The entities near a question, under the library's contract for its vector store."""

    def __init__(self, runtime: Runtime, index: StoredIndex, found: list[str]) -> None:
        self._runtime = runtime
        self._index = index
        self._found = found
        """Filled with their names."""

    async def query(self, query: str, top_k: int) -> list[dict[str, str]]:
        vector = await self._runtime.embedder.embed_query(query)
        self._found += [name for name, _ in self._index.vectors.nearest(vector, top_k)]
        return [{"entity_name": name} for name in self._found]


_ANALYST = re.compile(r"^----Analyst \d+----\nImportance Score: ([\d.]+)\n", re.MULTILINE)


def _points(shown: str) -> tuple[Context, ...]:
    """The points as the library lists them; which reports stand behind a point is not known."""
    _, *parts = _ANALYST.split(shown)
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return tuple(
        Context(text=text.strip(), doc_ids=(), kind="summary", score=float(score)) for score, text in pairs
    )


_SOURCES = "-----Sources-----"
_TABLE = re.compile(r"-----(Reports|Entities|Relationships)-----\n```csv\n(.*?)\n```\n(?=-----)", re.DOTALL)


async def _tables(index: StoredIndex, near: Sequence[str], shown: str) -> AsyncIterator[Context]:
    """A context for each table of reports, entities and relations that has a row, then the passages."""
    tables, _, sources = shown.rpartition(_SOURCES)
    for name, rows in _TABLE.findall(f"{tables}{_SOURCES}"):
        if "\n" in rows:
            yield Context(text=f"{name}\n{rows}", doc_ids=(), kind="summary" if name == "Reports" else "triplet")
    nodes = [await index.graph.get_node(name) for name in near]
    units = dict.fromkeys(unit for node in nodes for unit in node["source_id"].split(SEPARATOR))
    for record in await index.units.get_by_ids(list(units)):
        if (content := record["content"].strip()) in sources:
            yield passage(record).model_copy(update={"text": content})
