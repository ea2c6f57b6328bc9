"""Naive RAG: chunk, index, retrieve the best passages, generate once."""

from harness.core.records import Expected, Prediction, Query
from harness.protocols import Workload
from systems.common.answers import predict
from systems.common.expected_calls import answer_call, passages_of, search
from systems.common.passages import PassageParams, PassageSystem, expected_index, passage_system_spec
from systems.common.search import TopKParams


def expect(index: PassageParams, answer: TopKParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. Exact in calls; passages are assumed to have the mean length."""
    passages = passages_of(workload.corpus, index)
    call = answer_call(workload, passages.retrieved(answer.top_k), answer.prompts)
    return Expected(
        index=expected_index(passages, index), query=search(workload, [call], searches=int(answer.is_dense))
    )


class NaiveSystem(PassageSystem[PassageParams, TopKParams]):
    async def answer(self, query: Query) -> Prediction:
        found = await self._passages.find(query.text, self._params.top_k)
        return await predict(self._runtime, self._params, query.text, found)


SPEC = passage_system_spec(
    name="naive",
    version="1",
    summary="chunk, retrieve the top k passages by embeddings or keywords, generate once",
    also_called=("rag", "vector", "vector-rag", "dense", "basic", "vanilla", "hybrid", "bm25"),
    answer_params=TopKParams,
    build=NaiveSystem,
    expect=expect,
)
