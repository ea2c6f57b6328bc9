"""Closed book: the model's answers without any retrieval."""

from collections.abc import Sequence

from harness.core.records import Document, IndexStats, Prediction, Query
from harness.llm_utils.answer_contract import closed_book_messages, generate
from harness.protocols import GENERATES, NO_ROLE, Runtime, SystemSpec
from systems.baselines.expected_calls import expect_closed_book
from systems.baselines.params import AnswerParams, IndexParams


class ClosedBookSystem:
    """See `harness.protocols.System`."""

    def __init__(self, _index: IndexParams, _answer: AnswerParams, runtime: Runtime) -> None:
        self._runtime = runtime

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        """Build nothing."""
        return IndexStats(documents=len(corpus))

    async def load(self) -> None:
        """Nothing to load."""

    async def answer(self, query: Query) -> Prediction:
        """Generate once, from the question only."""
        messages = closed_book_messages(query.text, self._runtime.answer_style)
        return Prediction(answer=await generate(self._runtime, messages), has_contexts=False)

    def close(self) -> None:
        """Nothing to close."""


SPEC = SystemSpec(
    name="closed-book",
    version="1",
    summary="lower baseline: no retrieval, the model answers from its own knowledge",
    also_called=("no-rag", "no-retrieval", "llm", "llm-only"),
    index_params=IndexParams,
    answer_params=AnswerParams,
    build=ClosedBookSystem,
    index_kind="none/1",
    index_roles=NO_ROLE,
    answer_roles=GENERATES,
    expect=expect_closed_book,
    baseline="It sees no document and shows the model's own knowledge: a lower baseline, not a system to choose.",
)
