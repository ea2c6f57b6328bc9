"""Closed book: what the model answers without any retrieval."""

from collections.abc import Sequence

from harness.protocols import Runtime, SystemSpec
from harness.records import Document, IndexStats, Prediction, Query
from systems.brackets.expected import expect_closed_book
from systems.brackets.params import AnswerParams, IndexParams
from systems.parts.answering import generate
from systems.parts.prompts.answers import closed_book_messages


class ClosedBookSystem:
    """See `harness.protocols.System`."""

    def __init__(self, _index: IndexParams, answer: AnswerParams, runtime: Runtime) -> None:
        self._params = answer
        self._runtime = runtime

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        """Build nothing."""
        return IndexStats(documents=len(corpus))

    async def load(self) -> None:
        """Nothing was built."""

    async def answer(self, query: Query) -> Prediction:
        """Generate once, from the question alone."""
        return Prediction(
            answer=await generate(self._runtime, closed_book_messages(query.text, self._params.style))
        )

    def close(self) -> None:
        """Nothing is held open."""


SPEC = SystemSpec(
    name="closed-book",
    version="1",
    summary="bracket: no retrieval, the model answers from what it knows",
    index_params=IndexParams,
    answer_params=AnswerParams,
    build=ClosedBookSystem,
    index_kind="none/1",
    index_roles=frozenset(),
    expect=expect_closed_book,
    bracket="It sees no document: what the model knows by itself, a floor for the systems and not one of them.",
)
