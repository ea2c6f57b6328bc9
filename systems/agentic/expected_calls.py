"""Expected model calls of agentic, if every step is a search that finds only new passages."""

from harness.core.records import Expected, ExpectedCalls
from harness.protocols import Workload
from systems.agentic.params import AnswerParams
from systems.common.agent_memory import LONGEST_OBSERVATION
from systems.common.expected_calls import answer_call, characters_of, passages_of, search, typical_question
from systems.common.passages import PassageParams, expected_index
from systems.common.prompts.search_decision import MAX_TOKENS, decision_messages


def expect(index: PassageParams, answer: AnswerParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. An upper bound: the model may answer earlier, or repeat a search."""
    passages, question = passages_of(workload.corpus, index), typical_question(workload.queries)
    found = sum(len(one.text) for one in passages.retrieved(answer.k_per_round))
    observed = "x" * (len(question) + min(found, LONGEST_OBSERVATION))
    steps = range(answer.max_steps)
    decisions = [characters_of(decision_messages(question, [observed] * number)) for number in steps]
    deciding = ExpectedCalls(
        calls=len(decisions),
        input_characters=sum(decisions) / len(decisions),
        output_tokens_most=MAX_TOKENS,
    )
    last = answer_call(workload, passages.retrieved(len(decisions) * answer.k_per_round), answer.prompts)
    return Expected(
        index=expected_index(passages, index),
        query=search(workload, [deciding, last], searches=answer.max_steps * answer.is_dense),
        most=f"{answer.max_steps} searches, all with new passages only",
    )
