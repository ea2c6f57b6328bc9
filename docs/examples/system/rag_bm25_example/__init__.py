"""Passages by the words they share with the question (BM25), then one generation. Nothing is embedded."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from pydantic import Field

from harness.core.records import (
    Context,
    Document,
    Expected,
    ExpectedCalls,
    IndexStats,
    Prediction,
    Query,
    Span,
    Work,
)
from harness.llm_utils.answer_contract import answer_messages
from harness.protocols import GENERATES, NO_ROLE, Params, Runtime, SystemSpec, Workload

_WORD = re.compile(r"\w+")


class IndexParams(Params):
    """What determines the index."""

    passage_words: int = Field(150, ge=1)
    """Of the longest passage."""


class AnswerParams(Params):
    """What does not: a change of it takes the index that is there."""

    top_k: int = Field(5, ge=1)
    k1: float = Field(1.5, gt=0)
    """How much more a word counts that comes more often."""
    b: float = Field(0.75, ge=0, le=1)
    """How much a long passage is held back."""


class BM25:
    """See `harness.protocols.System`."""

    def __init__(self, index: IndexParams, answer: AnswerParams, runtime: Runtime) -> None:
        self._index_params, self._params, self._runtime = index, answer, runtime
        self._path = runtime.index_dir / "passages.jsonl"
        self._passages: list[tuple[Context, Counter[str]]] = []
        self._found_in: Counter[str] = Counter()
        self._mean_length = 0.0

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        """Cut every document into passages, and keep them."""
        chunks = 0
        with self._path.open("w", encoding="utf-8") as file:
            for done, document in enumerate(corpus, start=1):
                for passage in passages(document, self._index_params):
                    chunks += 1
                    file.write(f"{passage.model_dump_json()}\n")
                self._runtime.progress(done, len(corpus), "cutting")
        return IndexStats(documents=len(corpus), chunks=chunks)

    async def load(self) -> None:
        """Count the words of every passage, and the passages of every word."""
        with self._path.open(encoding="utf-8") as file:
            contexts = [Context.model_validate_json(line) for line in file]
        self._passages = [(context, Counter(words(context.text))) for context in contexts]
        self._found_in = Counter(word for _, counts in self._passages for word in counts)
        self._mean_length = sum(counts.total() for _, counts in self._passages) / max(len(self._passages), 1)

    async def answer(self, query: Query) -> Prediction:
        """Retrieve, then generate once, under the contract that every system here answers under."""
        with self._runtime.stage("retrieve"):
            contexts = self._search(query.text)
        return Prediction(answer=await self._runtime.answer(query.text, contexts), contexts=contexts)

    def close(self) -> None:
        """Nothing is held open."""

    def _search(self, question: str) -> tuple[Context, ...]:
        """The passages that share a word with the question, best first; equal ones in the order of the corpus."""
        n, k1, b = len(self._passages), self._params.k1, self._params.b
        found = {word: self._found_in[word] for word in words(question) if word in self._found_in}
        # Robertson & Zaragoza (2009), with Lucene's idf, which is never negative.
        idf = {word: math.log(1 + (n - count + 0.5) / (count + 0.5)) for word, count in found.items()}
        scored = []
        for context, counts in self._passages:
            damped = k1 * (1 - b + b * counts.total() / self._mean_length)
            score = sum(idf[word] * counts[word] * (k1 + 1) / (counts[word] + damped) for word in idf)
            if score > 0:
                scored.append((score, context))
        scored.sort(key=lambda one: -one[0])
        best = scored[: self._params.top_k]
        return tuple(context.model_copy(update={"score": score}) for score, context in best)


def words(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return _WORD.findall(text.lower())


def passages(document: Document, params: IndexParams) -> Iterator[Context]:
    """A document, cut every `passage_words` words; each passage knows its place in it."""
    cuts = [found.start() for found in _WORD.finditer(document.text)][:: params.passage_words]
    for start, end in pairwise([*cuts, len(document.text)]):
        text = document.text[start:end].rstrip()
        span = Span(doc_id=document.doc_id, start=start, end=start + len(text))
        yield Context(text=text, doc_ids=(document.doc_id,), span=span)


def expect(index: IndexParams, answer: AnswerParams, workload: Workload) -> Expected:
    """One generation a query, from passages of mean length: what `rag-harness estimate` goes by."""
    lengths = [len(one.text) for document in workload.corpus.documents for one in passages(document, index)]
    passage = Context(text="x" * round(sum(lengths) / max(len(lengths), 1)), doc_ids=())
    question = "x" * round(sum(len(query.text) for query in workload.queries) / max(len(workload.queries), 1))
    shown = [passage] * min(answer.top_k, len(lengths))
    characters = sum(len(turn.content) for turn in answer_messages(question, shown, workload.answer_style))
    call = ExpectedCalls(calls=1, input_characters=characters, output_tokens_most=workload.answer_tokens)
    return Expected(index=Work(), query=Work(calls=(call,)))


SPEC = SystemSpec(
    name="bm25",
    version="1",
    summary="passages by BM25, the words they share with the question; generate once",
    index_params=IndexParams,
    answer_params=AnswerParams,
    build=BM25,
    index_roles=NO_ROLE,
    answer_roles=GENERATES,
    expect=expect,
)
