"""Long context: as many whole documents as the context window holds, then one generation."""

import json
from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import Field

from harness.core.records import Context, Document, Expected, IndexStats, Prediction, Query, Step, Work
from harness.protocols import GENERATES, NO_ROLE, Params, Runtime, SystemSpec, Workload
from systems.common.answers import Found, PromptParams, predict
from systems.common.chunking import iter_chunks
from systems.common.expected_calls import answer_call, filler, passages_of
from systems.common.passages import SearchedParams, index_stats, loaded
from systems.common.token_estimate import clip, count_tokens
from systems.common.word_index import WordIndex, check_word_index

_WHOLE = 2**40
"""A chunk size that no document exceeds."""
_NUMBERING = 6
"""Tokens of a document's number in brackets and of the blank line behind it."""
_CHARACTERS_A_TOKEN = 4


class IndexParams(Params):
    headings: bool = True
    """Whether models read title, source and date with a document; then they are searched by `order=bm25`, too."""

    @property
    def whole_documents(self) -> SearchedParams:
        return SearchedParams(chunk_size=_WHOLE, chunk_overlap=0, headings=self.headings)


class AnswerParams(PromptParams):
    context_tokens: int = Field(6000, ge=200)
    """Maximum estimated tokens of all contexts; the default fits the 8,192 tokens of the local model."""
    order: Literal["corpus", "bm25"] = "corpus"
    """Which documents come first: `corpus`: as in the corpus, the same for every query; `bm25`: those that share
    words with the question, then the others.
    """


class LongContextSystem:
    def __init__(self, index: IndexParams, answer: AnswerParams, runtime: Runtime) -> None:
        self._index_params = index
        self._params = answer
        self._runtime = runtime
        self._sizes_path = runtime.index_dir / "tokens.json"
        self._documents: WordIndex | None = None
        self._sizes: list[int] = []

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        """Store the documents, their words and their lengths."""
        with self._runtime.stage("store"):
            documents = list(iter_chunks(corpus, self._index_params.whole_documents))
            texts = [document.shown for document in documents]
            self._sizes_path.write_text(json.dumps([count_tokens(text) + _NUMBERING for text in texts]))
            WordIndex.create(self._runtime.index_dir / "words", documents, texts)
        return index_stats(corpus, documents)

    async def load(self) -> None:
        self._sizes = json.loads(self._sizes_path.read_text())
        self._documents = WordIndex.open(self._runtime.index_dir / "words")
        window, total = self._params.context_tokens, sum(self._sizes)
        if total > window:
            other = "; answer.order=bm25 puts documents with the question's words first"
            self._runtime.warn(
                f"answer.context_tokens={window} holds {self._share(window)} of the corpus, which has about "
                f"{total:,} tokens{other if self._params.order == 'corpus' else ''}"
            )

    async def answer(self, query: Query) -> Prediction:
        documents = loaded(self._documents)
        with self._runtime.stage("retrieve"):
            contexts, fitted = self._fitted(documents, self._ranked(documents, query.text))
        found = Found(tuple(contexts), trace=(Step(name="fitted", content=fitted),))
        return await predict(self._runtime, self._params, query.text, found)

    def _ranked(self, documents: WordIndex, question: str) -> Iterable[tuple[int, float | None]]:
        """Numbers of all documents with their scores, in the order of the prompt."""
        found = dict(documents.rank(question)) if self._params.order == "bm25" else {}
        return [*found.items(), *((number, None) for number in range(len(self._sizes)) if number not in found)]

    def _fitted(
        self, documents: WordIndex, ranked: Iterable[tuple[int, float | None]]
    ) -> tuple[list[Context], str]:
        """The documents that fit, the last one cut off, and how much of the corpus that is."""
        left, contexts, cut = self._params.context_tokens, list[Context](), ""
        for number, score in ranked:
            size = self._sizes[number]
            context: Context | None = documents.passage(number, score)
            if size > left:
                context, cut = _beginning(documents.passage(number, score), left - _NUMBERING)
            if context:
                contexts.append(context)
                left -= min(size, left)
            if cut:
                break
        used = self._params.context_tokens - left
        counted = f"{len(contexts)} of {len(self._sizes)} documents{cut}"
        return contexts, f"{counted}: about {used:,} tokens, {self._share(used)} of the corpus"

    def _share(self, tokens: int) -> str:
        percent = 100 * tokens / max(sum(self._sizes), 1)
        return f"{percent:.0f} %" if percent >= 10 else f"{percent:.2g} %"

    def close(self) -> None:
        if self._documents is not None:
            self._documents.close()


def _beginning(whole: Context, tokens: int) -> tuple[Context | None, str]:
    """The document as far as it fits, and what was cut; None if only its heading fits."""
    text, span = clip(whole.text, max(0, tokens)), whole.span
    if span is None:
        raise ValueError("a stored document has its position")
    length = span.end - span.start
    kept = len(text) - (len(whole.text) - length)
    if kept <= 0 or not text[-kept:].strip():
        return None, ", the next one does not fit"
    part = whole.model_copy(update={"text": text, "span": span.model_copy(update={"end": span.start + kept})})
    return part, f", the last one cut after {kept:,} of {length:,} characters"


def _preflight(_index: IndexParams, _answer: AnswerParams) -> None:
    check_word_index()


def expect(index: IndexParams, answer: AnswerParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. Exact in calls; a token is assumed to have four characters."""
    documents = passages_of(workload.corpus, index.whole_documents)
    characters = min(documents.count * documents.mean_shown, answer.context_tokens * _CHARACTERS_A_TOKEN)
    call = answer_call(workload, filler(1, characters), answer.prompts)
    return Expected(index=Work(), query=Work(calls=(call,)))


SPEC = SystemSpec(
    name="long-context",
    version="1",
    summary="as many whole documents as the context window holds, without retrieval, generate once",
    index_params=IndexParams,
    answer_params=AnswerParams,
    build=LongContextSystem,
    index_roles=NO_ROLE,
    answer_roles=GENERATES,
    preflight=_preflight,
    expect=expect,
)
