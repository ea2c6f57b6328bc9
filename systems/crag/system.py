"""Corrective RAG: search, grade, search again where the passages do not suffice, and answer from what passes."""

from collections.abc import Sequence
from typing import get_args

from harness.core.records import Context, Prediction, Query, Step
from harness.protocols import Runtime
from systems.common.passage_system import PassageSystem, passage_system_spec
from systems.common.passages import PassageParams, Passages, check_passages
from systems.common.prompts.grading import Grade
from systems.common.prompts.thesis import answer_by
from systems.common.search import check_generator, place_of
from systems.crag.expected_calls import expect
from systems.crag.grading import Graded, grade, rewritten
from systems.crag.params import AnswerParams


class CragSystem(PassageSystem[PassageParams, AnswerParams]):
    def __init__(self, index: PassageParams, answer: AnswerParams, runtime: Runtime) -> None:
        super().__init__(index, answer, runtime)
        # One search if both are the same.
        self._again = self._passages if answer.second == answer else Passages(runtime, answer.second)

    async def load(self) -> None:
        """Open the stored passages for both searches."""
        check_generator(self._runtime, "answer.grader", self._params.grader, "rules")
        for passages in dict.fromkeys((self._passages, self._again)):
            passages.open()

    async def answer(self, query: Query) -> Prediction:
        """Grade what a search finds, search again unless a passage is correct, generate once from what passes."""
        found = await self._passages.search(query.text, self._params.top_k)
        first = await grade(self._runtime, self._params, query.text, found.contexts)
        action: Grade = min((one.grade for one in first), key=get_args(Grade).index, default="incorrect")
        trace = [Step(name="grades", content=_lines(first)), Step(name="action", content=action)]
        contexts, ranking = _refined(first), found.ranking
        if action != "correct":
            text = await rewritten(self._runtime, self._params, query.text)
            again = await self._again.search(text, self._params.top_k)
            met = {context.span for context in found.contexts}
            # Scores for another query are not comparable with the first.
            new = [one.model_copy(update={"score": None}) for one in again.contexts if one.span not in met]
            second = await grade(self._runtime, self._params, query.text, new)
            trace += [Step(name="rewritten", content=text), Step(name="grades again", content=_lines(second))]
            more = _refined(second)
            if action == "incorrect" and more:
                contexts, ranking = more, again.ranking
            else:
                contexts += more
        answer = await answer_by(self._runtime, self._params.prompts, query.text, contexts)
        return Prediction(answer=answer, contexts=tuple(contexts), trace=tuple(trace), retrieved=ranking)

    def close(self) -> None:
        """Release the store."""
        for passages in dict.fromkeys((self._passages, self._again)):
            passages.close()


def _refined(graded: Sequence[Graded]) -> list[Context]:
    """The strips that pass, without those of incorrect passages unless all are; if none passes, whole passages."""
    used = [one for one in graded if one.grade != "incorrect"] or graded
    strips = [strip for one in used for strip in one.passage.recomposed(one.passes)]
    return strips or [one.passage.context for one in used]


def _lines(graded: Sequence[Graded]) -> str:
    lines = (
        f"{place_of(one.passage.context)} {one.grade}, {sum(one.passes)} of {len(one.passes)} strips"
        for one in graded
    )
    return "\n".join(lines) or "nothing new was found"


def _check(index: PassageParams, answer: AnswerParams) -> None:
    check_passages(index, answer)
    check_passages(index, answer.second)


SPEC = passage_system_spec(
    name="crag",
    version="1",
    summary="grade the top k passages, search again with another query where they fail, keep the strips that help",
    answer_params=AnswerParams,
    build=CragSystem,
    preflight=_check,
    expect=expect,
)
