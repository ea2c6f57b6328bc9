"""Recursive RAG: retrieve, generate sub-questions about missing information, retrieve again, and so on; then
generate once.
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from harness.core.records import Context, Expected, ExpectedCalls, Places, Prediction, Query, Span, Step
from harness.protocols import ChatModel, Workload
from systems.common.expected_calls import answer_call, characters_of, passages_of, search, typical_question
from systems.common.passages import PassageParams, PassageSystem, expected_index, passage_system_spec
from systems.common.prompts.sub_questions import read_questions, reply_schema, reply_tokens, sub_question_messages
from systems.common.prompts.thesis import (
    SUB_QUESTION_TOKENS,
    predict,
    read_sub_questions,
    thesis_sub_question_messages,
)
from systems.common.search import SearchParams, place_of


class AnswerParams(SearchParams):
    rounds: int = Field(5, ge=1, le=20)
    """Maximum retrieval rounds per query; 1 is naive RAG with k_per_round passages."""
    k_per_round: int = Field(7, ge=1, le=100)
    """Passages per round, including earlier ones. Not `top_k`, which would also set naive's."""
    max_questions: int = Field(3, ge=1, le=10)
    """Maximum sub-questions that extend the query per round; with `prompts=thesis` only asked for, as there."""
    sub_questions: Literal["latest", "cumulative"] = "latest"
    """Which sub-questions a search and the next prompt add to the question: `latest`: a search those of the last
    round, the prompt none; `cumulative`: both those of all rounds (thesis).
    """
    stop: Literal["nothing_missing", "no_new_passage", "never"] = "nothing_missing"
    """What ends the search before the last round: `no_new_passage`: a round that retrieves nothing new (thesis);
    `nothing_missing`: also a reply without a sub-question; `never`: nothing.
    """
    ask_last: bool = False
    """Whether the model is also asked after the last round, though nothing is searched with its reply (thesis)."""


def expect(index: PassageParams, answer: AnswerParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. An upper bound: a search may end early, and rounds may retrieve passages again."""
    passages, question = passages_of(workload.corpus, index), typical_question(workload.queries)
    is_thesis = answer.prompts == "thesis"
    messages = thesis_sub_question_messages if is_thesis else sub_question_messages
    asked = [
        characters_of(messages(question, passages.retrieved(done * answer.k_per_round), answer.max_questions))
        for done in range(1, answer.rounds + answer.ask_last)
    ]
    between = ExpectedCalls(
        calls=len(asked),
        input_characters=sum(asked) / max(len(asked), 1),
        output_tokens_most=SUB_QUESTION_TOKENS if is_thesis else reply_tokens(answer.max_questions),
    )
    last = answer_call(workload, passages.retrieved(answer.rounds * answer.k_per_round), answer.prompts)
    return Expected(
        index=expected_index(passages, index),
        query=search(workload, [between, last] if asked else [last], searches=answer.rounds * answer.is_dense),
        most=f"{answer.rounds} rounds, all with new passages only" if asked else "",
    )


class RecursiveSystem(PassageSystem[PassageParams, AnswerParams]):
    async def answer(self, query: Query) -> Prediction:
        found = _RoundPassages()
        reason = await self._search(query.text, found)
        trace = (*found.rounds, Step(name="stop", content=reason))
        return await predict(self._runtime, self._params, query.text, found.contexts, trace, found.ranking)

    async def _search(self, question: str, found: "_RoundPassages") -> str:
        params, chat = self._params, self._runtime.chat
        asked: list[str] = []
        base = text = question
        while True:
            searched = await self._passages.find(text, params.k_per_round)
            if not found.rounds:
                found.ranking = searched.ranking
            if not found.add(asked, searched.contexts) and params.stop != "never":
                return "no new passage"
            is_last = len(found.rounds) == params.rounds
            if is_last and not params.ask_last:
                return "maximum of rounds"
            if chat is None:
                return "no generator"
            asked, problem = await self._ask(chat, base, found.contexts)
            if is_last:
                return "maximum of rounds"
            if not asked and params.stop == "nothing_missing":
                return problem
            text = "\n".join([base, *asked])
            base = text if params.sub_questions == "cumulative" else question

    async def _ask(self, chat: ChatModel, text: str, contexts: Sequence[Context]) -> tuple[list[str], str]:
        limit = self._params.max_questions
        with self._runtime.stage("ask"):
            if self._params.prompts == "thesis":
                messages = thesis_sub_question_messages(text, contexts, limit)
                reply = await chat.complete(messages, max_tokens=SUB_QUESTION_TOKENS)
                return read_sub_questions(reply), "an empty reply"
            reply = await chat.complete(
                sub_question_messages(text, contexts, limit),
                max_tokens=reply_tokens(limit),
                json_schema=reply_schema(limit),
            )
        asked = read_questions(reply, limit)
        return asked or [], "nothing missing" if asked == [] else f"no question in the reply: {reply[:200]!r}"


class _RoundPassages:
    def __init__(self) -> None:
        self._contexts: dict[Span | None, Context] = {}
        self.rounds: list[Step] = []
        self.ranking: Places | None = None
        """The ranking for the question itself."""

    @property
    def contexts(self) -> list[Context]:
        """Distinct passages, round by round, the best of each round first."""
        return list(self._contexts.values())

    def add(self, sub_questions: Sequence[str], retrieved: Sequence[Context]) -> bool:
        """Add one round; returns whether it retrieved a new passage."""
        new = [context for context in retrieved if context.span not in self._contexts]
        if self.rounds:
            # Its score is for an extended query and is not comparable with a score for the question.
            new = [context.model_copy(update={"score": None}) for context in new]
        self._contexts.update((context.span, context) for context in new)
        lines = [*(f"? {text}" for text in sub_questions), *(f"+ {place_of(context)}" for context in new)]
        self.rounds.append(Step(name=f"round {len(self.rounds) + 1}", content="\n".join(lines)))
        return bool(new)


SPEC = passage_system_spec(
    name="recursive",
    version="1",
    summary="retrieve in rounds, each with sub-questions about missing information, generate once",
    also_called=("iterative", "multi-hop", "sub-questions"),
    answer_params=AnswerParams,
    build=RecursiveSystem,
    expect=expect,
)
