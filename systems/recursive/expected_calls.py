"""Expected model calls of recursive, if every round is used and retrieves only new passages."""

from harness.core.records import Expected, ExpectedCalls
from harness.protocols import Workload
from systems.common.expected_calls import answer_call, characters_of, passages_of, search, typical_question
from systems.common.passages import PassageParams, expected_index
from systems.common.prompts.sub_questions import reply_tokens, sub_question_messages
from systems.common.prompts.thesis import SUB_QUESTION_TOKENS, thesis_sub_question_messages
from systems.recursive.params import AnswerParams


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
