"""The baselines' expected model calls: none for an index, one generation per query."""

from harness.core.records import Expected, ExpectedCalls, Work
from harness.llm_utils.answer_contract import closed_book_messages
from harness.protocols import Workload
from systems.baselines.params import AnswerParams, IndexParams
from systems.common.expected_calls import answer_call, characters_of, filler, typical_question

_FACTS, _FACT_CHARACTERS = 3, 250
"""An estimate must not see the reference evidence, so it assumes some facts of one sentence each, with headings.
"""


def expect_closed_book(_index: IndexParams, _answer: AnswerParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. Exact."""
    prompt = characters_of(closed_book_messages(typical_question(workload.queries), workload.answer_style))
    call = ExpectedCalls(calls=1, input_characters=prompt, output_tokens_most=workload.answer_tokens)
    return Expected(index=Work(), query=Work(calls=(call,)))


def expect_gold(_index: IndexParams, _answer: AnswerParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`."""
    call = answer_call(workload, filler(_FACTS, _FACT_CHARACTERS))
    note = f"the reference evidence is assumed to be {_FACTS} facts of {_FACT_CHARACTERS} characters"
    return Expected(index=Work(), query=Work(calls=(call,)), notes=(note,))
