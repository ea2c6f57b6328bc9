"""Naive RAG: chunk, index, retrieve the best passages, generate once."""

from harness.core.records import Prediction, Query
from systems.common.passage_system import PassageSystem, passage_system_spec
from systems.common.passages import PassageParams
from systems.common.prompts.thesis import answer_by
from systems.naive.expected_calls import expect
from systems.naive.params import AnswerParams


class NaiveSystem(PassageSystem[PassageParams, AnswerParams]):
    async def answer(self, query: Query) -> Prediction:
        """Retrieve, then generate once."""
        found = await self._passages.search(query.text, self._params.top_k)
        answer = await answer_by(self._runtime, self._params.prompts, query.text, found.contexts)
        return Prediction(answer=answer, contexts=tuple(found.contexts), retrieved=found.ranking)


SPEC = passage_system_spec(
    name="naive",
    version="1",
    summary="chunk, retrieve the top k passages by embeddings or keywords, generate once",
    also_called=("rag", "vector", "vector-rag", "dense", "basic", "vanilla", "hybrid", "bm25"),
    answer_params=AnswerParams,
    build=NaiveSystem,
    expect=expect,
)
