"""The router's own expected model calls; the runner adds those of the routed systems."""

from harness.core.records import Expected, ExpectedCalls, Work
from harness.llm_utils.query_classifier import REPLY_TOKENS, type_messages
from harness.protocols import Workload
from systems.common.expected_calls import characters_of, typical_question
from systems.router.params import AnswerParams, IndexParams


def expect(_index: IndexParams, answer: AnswerParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`: a short classification call, or none."""
    if answer.classifier == "rules":
        return Expected(index=Work(), query=Work())
    prompt = characters_of(type_messages(typical_question(workload.queries)))
    call = ExpectedCalls(calls=1, input_characters=prompt, output_tokens_most=REPLY_TOKENS)
    return Expected(index=Work(), query=Work(calls=(call,)), notes=("the first reply always names a type",))
