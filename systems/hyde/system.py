"""HyDE (Gao et al. 2022): the model writes hypothetical passages that answer the question, and real passages near
to them are retrieved.
"""

from pydantic import Field

from harness.core.records import Expected, Prediction, Query, Step
from harness.llm_utils.concurrency import map_bounded
from harness.protocols import ChatModel, Message, Workload
from systems.common.answers import predict
from systems.common.expected_calls import (
    also_embedding,
    answer_call,
    expected_call,
    passages_of,
    search,
    typical_question,
)
from systems.common.passages import PassageParams, PassageSystem, expected_index, passage_system_spec
from systems.common.search import TopKParams

PASSAGE_TOKENS = 200
"""Maximum tokens of a hypothetical passage."""
_PASSAGE_CHARACTERS = 500
"""Its assumed length in an estimate."""
_CONCURRENCY = 8
_ROLE = "You write passages for a search engine, which looks for real passages that resemble yours."
_TASK = (
    "Write one short paragraph as it might stand in a document that answers the question. Name people, places, "
    "dates and amounts as if you knew them; what you make up is thrown away. Write the paragraph alone."
)


class AnswerParams(TopKParams):
    hypothetical_passages: int = Field(1, ge=1, le=20)
    """Hypothetical passages per query, one call each."""


class HydeSystem(PassageSystem[PassageParams, AnswerParams]):
    async def answer(self, query: Query) -> Prediction:
        """Write hypothetical passages, retrieve by them and the question, then generate once."""
        chat = self._runtime.chat
        written = await self._write(chat, query.text) if chat else []
        found = await self._passages.find(query.text, self._params.top_k, [text for text in written if text])
        said = written or ["none, because the run has no generator: the question alone is searched"]
        trace = tuple(Step(name="hypothetical passage", content=text or "(an empty reply)") for text in said)
        return await predict(self._runtime, self._params, query.text, found._replace(trace=trace))

    async def _write(self, chat: ChatModel, question: str) -> list[str]:
        most = self._params.hypothetical_passages

        async def write(number: int) -> str:
            messages = passage_messages(question, number, most)
            return (await chat.complete(messages, max_tokens=PASSAGE_TOKENS)).strip()

        with self._runtime.stage("write"):
            return await map_bounded(write, range(1, most + 1), _CONCURRENCY)


def passage_messages(question: str, number: int, most: int) -> list[Message]:
    """The prompt for the hypothetical passage with this number, of `most`."""
    # At temperature 0 the same prompt would give the same passage.
    other = f" This is paragraph {number} of {most}: choose another kind of document and other words than before."
    task = f"{_TASK}{other if most > 1 else ''}"
    return [Message("system", _ROLE), Message("user", f"Question: {question}\n\n{task}\nParagraph:")]


def expect(index: PassageParams, answer: AnswerParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. Exact in calls; passages are assumed to have the mean length."""
    passages, most = passages_of(workload.corpus, index), answer.hypothetical_passages
    prompt = passage_messages(typical_question(workload.queries), most, most)
    write = expected_call(prompt, PASSAGE_TOKENS, calls=most)
    call = answer_call(workload, passages.retrieved(answer.top_k), answer.prompts)
    query = search(workload, [write, call], searches=int(answer.is_dense))
    if answer.is_dense:
        query = also_embedding(query, most, _PASSAGE_CHARACTERS)
    return Expected(index=expected_index(passages, index), query=query)


SPEC = passage_system_spec(
    name="hyde",
    version="1",
    summary="the model writes a hypothetical passage, retrieve the top k real ones near to it, generate once",
    answer_params=AnswerParams,
    build=HydeSystem,
    expect=expect,
)
