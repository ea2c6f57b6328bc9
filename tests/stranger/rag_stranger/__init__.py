"""Whole documents by the words they share with the question (tf-idf), then one generation. No embedding."""

import json
import math
import re
from collections import Counter
from collections.abc import Sequence

from harness.protocols import GENERATES, NO_ROLE, Params, Runtime, SystemSpec
from harness.records import Context, Document, IndexStats, Prediction, Query, Span


class IndexParams(Params):
    """What determines the index."""

    min_letters: int = 3
    """Shorter words are left out."""


class AnswerParams(Params):
    """What does not."""

    n_documents: int = 3


def words(text: str, min_letters: int) -> Counter[str]:
    """How often each word occurs."""
    return Counter(word for word in re.findall(r"\w+", text.lower()) if len(word) >= min_letters)


class Stranger:
    """See `harness.protocols.System`."""

    def __init__(self, index: IndexParams, answer: AnswerParams, runtime: Runtime) -> None:
        self._index, self._answer, self._runtime = index, answer, runtime
        self._path = runtime.index_dir / "texts.json"
        self._documents: list[tuple[str, str, Counter[str]]] = []

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        """Keep the texts."""
        self._path.write_text(json.dumps([[document.doc_id, document.text] for document in corpus]))
        return IndexStats(documents=len(corpus))

    async def load(self) -> None:
        """Count the words."""
        stored = json.loads(self._path.read_text())
        self._documents = [(doc_id, text, words(text, self._index.min_letters)) for doc_id, text in stored]

    async def answer(self, query: Query) -> Prediction:
        """Retrieve, then generate once."""
        with self._runtime.stage("retrieve"):
            contexts = self._retrieve(query.text)
        return Prediction(answer=await self._runtime.answer(query.text, contexts), contexts=contexts)

    def _retrieve(self, question: str) -> tuple[Context, ...]:
        scored = []
        for doc_id, text, counts in self._documents:
            score = sum(counts[word] * self._weight(word) for word in words(question, self._index.min_letters))
            if score > 0:
                span = Span(doc_id=doc_id, start=0, end=len(text))
                scored.append(Context(text=text, doc_ids=(doc_id,), score=score, span=span))
        scored.sort(key=lambda context: -(context.score or 0.0))
        return tuple(scored[: self._answer.n_documents])

    def _weight(self, word: str) -> float:
        return math.log(1 + len(self._documents) / (1 + sum(word in counts for _, _, counts in self._documents)))

    def close(self) -> None:
        """Nothing is held open."""


SPEC = SystemSpec(
    name="stranger",
    version="1",
    summary="whole documents that share words with the question, generate once",
    index_params=IndexParams,
    answer_params=AnswerParams,
    build=Stranger,
    index_roles=NO_ROLE,
    answer_roles=GENERATES,
)
