"""Closed book: the model's answers without any retrieval."""

from collections.abc import Sequence

from harness.core.records import Document, Expected, IndexStats, Prediction, Query, Work
from harness.llm_utils.answer_contract import closed_book_messages, generate
from harness.protocols import GENERATES, NO_ROLE, Params, Runtime, SystemSpec, Workload
from systems.common.expected_calls import expected_call, typical_question


class ClosedBookSystem:
    def __init__(self, _index: Params, _answer: Params, runtime: Runtime) -> None:
        self._runtime = runtime

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        return IndexStats(documents=len(corpus))

    async def load(self) -> None:
        """Nothing to load."""

    async def answer(self, query: Query) -> Prediction:
        messages = closed_book_messages(query.text, self._runtime.answer_style)
        return Prediction(answer=await generate(self._runtime, messages), has_contexts=False)

    def close(self) -> None:
        """Nothing to close."""


def expect(_index: Params, _answer: Params, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. Exact."""
    prompt = closed_book_messages(typical_question(workload.queries), workload.answer_style)
    call = expected_call(prompt, workload.answer_tokens)
    return Expected(index=Work(), query=Work(calls=(call,)))


SPEC = SystemSpec(
    name="closed-book",
    version="1",
    summary="lower baseline: no retrieval, the model answers from its own knowledge",
    also_called=("no-rag", "no-retrieval", "llm", "llm-only"),
    index_params=Params,
    answer_params=Params,
    build=ClosedBookSystem,
    index_kind="none/1",
    index_roles=NO_ROLE,
    answer_roles=GENERATES,
    expect=expect,
    baseline="It sees no document and shows the model's own knowledge: a lower baseline, not a system to choose.",
)
