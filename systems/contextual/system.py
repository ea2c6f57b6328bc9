"""Contextual retrieval: each chunk is searched together with a context, and read without it."""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Literal

from pydantic import Field

from harness.core.records import Document, Expected, ExpectedCalls, IndexStats, Prediction, Query, Step, Work
from harness.extraction.entity_names import one_line
from harness.llm_utils.answer_contract import RULE, quoted
from harness.llm_utils.concurrency import Progress, map_bounded
from harness.protocols import GENERATES, NO_ROLE, ChatModel, Corpus, Message, Runtime, Workload
from systems.common.answers import predict
from systems.common.chunking import Chunk, iter_chunks
from systems.common.expected_calls import PassageFacts, answer_call, characters_of, passages_of, search
from systems.common.headings import document_heading, under_heading
from systems.common.passages import (
    PassageParams,
    PassageSystem,
    counted,
    embed,
    expected_index,
    index_roles,
    index_stats,
    passage_system_spec,
    store_passages,
)
from systems.common.search import TopKParams, place_of
from systems.common.wrapped_libraries import CONCURRENCY, Guard

CONTEXT_TOKENS = 120
"""Maximum tokens of a written context."""
LONGEST = 600
"""Maximum characters of a written context; a server may ignore max_tokens."""
_LONGEST_SECTION = 120
_SECTION = re.compile(r"^(#{1,6})[ \t]+(\S.*)$", re.MULTILINE)
_ROLE = f"You prepare the passages of a document for a search engine. {RULE}"
_TASK = (
    "In one or two short sentences, say what the document is about and where in it the passage stands. Name the "
    "people, organisations, places and dates that the passage is about but does not name. Reply with these "
    "sentences alone."
)


def heading_contexts(chunks: Sequence[Chunk]) -> Iterator[str]:
    """For each chunk, title, source and date of its document, and the section headings above it."""
    for _, group in groupby(chunks, key=lambda chunk: chunk.span.doc_id):
        of_document = list(group)
        document = of_document[0].document
        headings = list(_SECTION.finditer(document.text))
        starts = [heading.start() for heading in headings]
        for chunk in of_document:
            above = _path(headings[: bisect_right(starts, chunk.span.start)])
            sections = " > ".join(section for section in above if section != document.title)
            yield under_heading(document_heading(document), sections).strip()


def _path(headings: Sequence[re.Match[str]]) -> list[str]:
    """The headings that are open behind the last of these, from the highest level to the lowest."""
    opened: dict[int, str] = {}
    for heading in headings:
        level = len(heading[1])
        opened = {above: text for above, text in opened.items() if above < level}
        opened[level] = one_line(heading[2])[:_LONGEST_SECTION]
    return list(opened.values())


async def written_contexts(
    chat: ChatModel, chunks: Sequence[Chunk], most_characters: int, progress: Progress
) -> tuple[list[str | None], str]:
    """A context for each chunk, by one call each; None for a call that failed, and the first reason."""
    guard = Guard()

    async def write(chunk: Chunk) -> str | None:
        messages = context_messages(chunk.heading, excerpt(chunk, most_characters), chunk.text)
        reply = await guard.run(lambda: chat.complete(messages, max_tokens=CONTEXT_TOKENS))
        return None if reply is None else one_line(reply)[:LONGEST]

    written = await map_bounded(write, chunks, CONCURRENCY, progress)
    guard.check()
    return written, guard.first_failure


def excerpt(chunk: Chunk, most: int) -> str:
    """The document of a chunk; of one with more than `most` characters, the part around the chunk."""
    text, span = chunk.document.text, chunk.span
    start = max(0, min((span.start + span.end - most) // 2, len(text) - most))
    return text[start : start + most]


def context_messages(heading: str, document: str, passage: str) -> list[Message]:
    """The prompt for the context of a passage. The document comes first, so that a server can cache it."""
    material = f"Document:\n{quoted('text', under_heading(heading, document))}"
    asked = f"Passage of this document:\n{quoted('passages', passage)}"
    return [Message("system", _ROLE), Message("user", f"{material}\n\n{asked}\n\n{_TASK}")]


def expected_contexts(passages: PassageFacts, corpus: Corpus, most_characters: int) -> tuple[ExpectedCalls, ...]:
    """One call per chunk, with documents in proportion to their chunks."""
    if not passages.count:
        return ()
    lengths = [len(document.text) for document in corpus.documents]
    mean = sum(length * min(length, most_characters) for length in lengths) / max(sum(lengths), 1)
    template = characters_of(context_messages("", "", ""))
    call = ExpectedCalls(
        calls=passages.count,
        input_characters=template + mean + passages.mean_shown,
        output_tokens_most=CONTEXT_TOKENS,
    )
    return (call,)


_WRITTEN_CHARACTERS = LONGEST // 2
"""Assumed length of a written context."""


class IndexParams(PassageParams):
    context: Literal["headings", "model"] = "headings"
    """The context with which a chunk is embedded and searched by words: `headings`: title, source and date of its
    document and the section headings above it; `model`: one or two sentences that a model writes, one call each.
    """
    document_characters: int = Field(12_000, ge=500)
    """With `model`: maximum characters of the document in a call; of a longer one, the part around the chunk."""


class ContextualSystem(PassageSystem[IndexParams, TopKParams]):
    def __init__(self, index: IndexParams, answer: TopKParams, runtime: Runtime) -> None:
        super().__init__(index, answer, runtime)
        self._path = runtime.index_dir / "contexts.json"
        self._contexts: dict[str, str] = {}

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        params = self._index_params
        with self._runtime.stage("chunk"):
            chunks = list(iter_chunks(corpus, params))
        with self._runtime.stage("context"):
            contexts, reason = await self._contexts_of(chunks)
        # Headings are searched as a context or not at all.
        own = [
            params.searched_text(chunk) if params.context == "model" else chunk.text.strip() for chunk in chunks
        ]
        texts = [under_heading(context or "", text) for context, text in zip(contexts, own, strict=True)]
        places = [f"{chunk.span.doc_id} {chunk.span.start}-{chunk.span.end}" for chunk in chunks]
        self._path.write_text(json.dumps(dict(zip(places, contexts, strict=True))), encoding="utf-8")
        store_passages(self._runtime, chunks, texts, await embed(self._runtime, texts) if params.vectors else None)
        stats = index_stats(corpus, chunks)
        if params.context == "headings":
            return stats
        failed = contexts.count(None)
        notes = counted((failed, f"chunks have no context, because the call failed; the first reason: {reason}"))
        return stats.model_copy(update={"failed_chunks": failed, "notes": (*stats.notes, *notes)})

    async def _contexts_of(self, chunks: Sequence[Chunk]) -> tuple[Sequence[str | None], str]:
        """The context of each chunk; None and the first reason where a call failed."""
        if self._index_params.context == "headings":
            return list(heading_contexts(chunks)), ""
        if self._runtime.chat is None:
            raise RuntimeError("contexts by a model need a generator; planning should have rejected the run")
        progress = partial(self._runtime.progress, doing="writing contexts")
        most = self._index_params.document_characters
        return await written_contexts(self._runtime.chat, chunks, most, progress)

    async def load(self) -> None:
        self._contexts = json.loads(self._path.read_text(encoding="utf-8"))
        await super().load()

    async def answer(self, query: Query) -> Prediction:
        """Retrieve, then generate once from the chunks without their contexts."""
        found = await self._passages.find(query.text, self._params.top_k)
        places = [place_of(context) for context in found.contexts]
        content = "\n".join(
            f"{place}: {' | '.join((self._contexts.get(place) or 'none').splitlines())}" for place in places
        )
        trace = (Step(name="contexts of the passages", content=content),) if places else ()
        return await predict(self._runtime, self._params, query.text, found._replace(trace=trace))


def expect(index: IndexParams, answer: TopKParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. Exact in calls; passages are assumed to have the mean length."""
    passages = passages_of(workload.corpus, index)
    is_written = index.context == "model"
    embedded = expected_index(passages, index)
    context = _WRITTEN_CHARACTERS if is_written else max(0.0, passages.mean_shown - passages.mean_characters)
    if embedded.embedded_texts:
        characters = passages.count * (passages.mean_characters + context)
        embedded = passages.embedding().model_copy(update={"embedded_characters": characters})
    calls = expected_contexts(passages, workload.corpus, index.document_characters) if is_written else ()
    call = answer_call(workload, passages.retrieved(answer.top_k), answer.prompts)
    return Expected(
        index=Work(
            calls=calls, embedded_texts=embedded.embedded_texts, embedded_characters=embedded.embedded_characters
        ),
        query=search(workload, [call], searches=int(answer.is_dense)),
    )


SPEC = passage_system_spec(
    name="contextual",
    version="1",
    summary="chunks searched with a context from headings or a model, read without it, generate once",
    index_params=IndexParams,
    answer_params=TopKParams,
    build=ContextualSystem,
    index_kind="",  # an index of its own
    index_roles=lambda index: index_roles(index) | (GENERATES if index.context == "model" else NO_ROLE),
    expect=expect,
)
