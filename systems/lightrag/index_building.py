"""The index: documents inserted into LightRAG one by one; it extracts, merges and summarises."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from harness.core.records import Document, IndexStats, Places
from harness.llm_utils.structured_output import parse_object
from harness.protocols import ChatModel, Runtime
from systems.common.chunking import Chunk, iter_chunks
from systems.common.passages import counted
from systems.common.token_estimate import count_tokens
from systems.common.wrapped_libraries import Guard, LibraryReplies
from systems.lightrag import library
from systems.lightrag.chunk_positions import ChunkPlace, ChunkPlaces
from systems.lightrag.library import Embedding
from systems.lightrag.params import GRAPH_SCHEMA, IndexParams

_DELIMITER, _END = "<|#|>", "<|COMPLETE|>"
"""A text reply without either is prose. Only the second means that there is nothing to extract."""


class Extraction(LibraryReplies):
    def __init__(self, chat: ChatModel, params: IndexParams) -> None:
        super().__init__(chat, Guard())
        self._params = params
        self._unread = ""
        self.unfinished_replies = 0
        """Number of truncated or broken replies; the library uses the readable part."""

    @property
    def first_failure(self) -> str:
        return self._guard.first_failure or self._unread

    def check(self) -> None:
        """Raise an error after which no call can succeed."""
        self._guard.check()

    async def ask(self, prompt: str, given: Mapping[str, Any]) -> str:
        """The reply to one of the library's prompts; only extraction prompts have a system prompt."""
        system, most = given.get("system_prompt"), self._params.reply_tokens
        if not system:
            return await self.summarise(prompt, most)
        schema = GRAPH_SCHEMA if self._params.extraction == "json" else None
        return await self.extract(prompt, given.get("history_messages") or [], most, system, schema)

    def is_graph(self, reply: str) -> bool:
        as_text = self._params.extraction == "text"
        has_records = _DELIMITER in reply or _END in reply
        read = has_records if as_text else "entities" in library.read_json(reply)
        if read:
            self.unfinished_replies += not (_END in reply if as_text else _is_object(reply))
        elif reply:
            self._unread = self._unread or "a reply that is not a list of entities and relations"
        return read


def _is_object(reply: str) -> bool:
    try:
        parse_object(reply)
    except ValueError:
        return False
    return True


class IndexBuild:
    """Builds the index under `runtime.index_dir`."""

    def __init__(self, runtime: Runtime, chat: ChatModel, params: IndexParams) -> None:
        self._runtime = runtime
        self._params = params
        self._extraction = Extraction(chat, params)
        self._embedding = Embedding(runtime)
        self._under_way: Sequence[Chunk] = ()
        """The chunks of the document being inserted."""

    async def run(self, corpus: Sequence[Document]) -> IndexStats:
        """Raises HarnessError if no further model call can succeed."""
        library.load()  # Takes seconds and is not part of any stage.
        with self._runtime.stage("chunk"):
            texts = _by_text(corpus)
            # By the first document of each text, which has its chunks.
            twins = {documents[0].doc_id: documents for documents in texts.values()}
            chunks = list(iter_chunks([documents[0] for documents in twins.values()], self._params))
        by_document = [list(group) for _, group in groupby(chunks, key=lambda chunk: chunk.document.doc_id)]
        self._extraction.progress = lambda done: self._runtime.progress(done, len(chunks), "extracting")
        size = (0, 0)
        if chunks:
            with self._runtime.stage("insert"):
                size = await self._insert(by_document)
        places = {one.chunk_id: ChunkPlace.of(one, twins[one.document.doc_id]) for one in chunks}
        ChunkPlaces(dimension=self._embedding.dimension, chunks=places).write(self._runtime.index_dir)
        return IndexStats(
            documents=len(corpus),
            chunks=len(chunks),
            nodes=size[0],
            edges=size[1],
            failed_chunks=self._extraction.failed_chunks,
            passages=Places.of(chunk.span for chunk in chunks),
            notes=self._notes(corpus, texts),
        )

    async def _insert(self, by_document: Sequence[Sequence[Chunk]]) -> tuple[int, int]:
        """Insert all documents; returns the number of entities and relations."""
        await self._embedding.measure(by_document[0][0].text)
        rag = self._library()
        await rag.initialize_storages()
        try:
            for self._under_way in by_document:
                await self._insert_one(rag, self._under_way[0])
            graph = rag.chunk_entity_relation_graph
            return len(await graph.get_all_nodes()), len(await graph.get_all_edges())
        finally:
            await rag.finalize_storages()
            library.forget()

    def _library(self) -> Any:
        def chunks(*_: object, **__: object) -> list[dict[str, Any]]:
            return [_row(number, chunk) for number, chunk in enumerate(self._under_way)]

        extraction, embedding = self._extraction, self._embedding

        async def extract(prompt: str, **given: Any) -> str:
            return await extraction.ask(prompt, given)

        async def embed(texts: Sequence[str], **_: Any) -> Any:
            return await embedding.of_documents(texts)

        return library.new(
            self._runtime.index_dir,
            embedding.dimension,
            embed=embed,
            extract=extract,
            keywords=extract,
            chunks=chunks,
            entity_extract_max_gleaning=self._params.max_gleaning,
            entity_extraction_use_json=self._params.extraction == "json",
        )

    async def _insert_one(self, rag: Any, first: Chunk) -> None:
        """Insert the document of this first chunk; the library only notes a failure and continues."""
        key = first.chunk_id.partition("-")[0]
        # The library rejects a text that equals an earlier one after its cleaning: the key makes them different.
        await rag.ainsert(f"{key}\n{first.document.text}", ids=key)
        self._extraction.check()
        self._embedding.check()
        status = await rag.doc_status.get_by_id(key)
        if status is None or status["status"] != "processed":
            raise RuntimeError(f"LightRAG did not insert a document: {(status or {}).get('error_msg')}")

    def _notes(self, corpus: Sequence[Document], texts: Mapping[str, Sequence[Document]]) -> tuple[str, ...]:
        kept = sum(len(documents) for documents in texts.values())
        counts = counted(
            (len(corpus) - kept, "documents have no text"),
            (kept - len(texts), "documents have the same text as another one: LightRAG keeps one of them"),
            (
                self._extraction.unfinished_replies,
                "replies of extraction are truncated: LightRAG used their readable part",
            ),
            (self._extraction.failed_descriptions, "lists of descriptions could not be summarised and are lost"),
        )
        why = self._extraction.first_failure
        return (*counts, f"the first failure: {why}") if why else counts


def _by_text(corpus: Sequence[Document]) -> dict[str, list[Document]]:
    """The documents by text: the library keeps one of several with equal texts."""
    found: defaultdict[str, list[Document]] = defaultdict(list)
    for document in corpus:
        if text := document.text.strip():
            found[text].append(document)
    return dict(found)


def _row(number: int, chunk: Chunk) -> dict[str, Any]:
    """A chunk in the library's form. Its id begins with its document's, so the library keeps it."""
    return {
        "tokens": count_tokens(chunk.text),
        "content": chunk.text,
        "chunk_order_index": number,
        "chunk_id": chunk.chunk_id,
    }
