"""Expected model calls of naive: every chunk embedded, then one search and one generation per query."""

from harness.core.records import Expected
from harness.protocols import Workload
from systems.common.expected_calls import answer_call, passages_of, search
from systems.common.passages import PassageParams, expected_index
from systems.naive.params import AnswerParams


def expect(index: PassageParams, answer: AnswerParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. Exact in calls; passages are assumed to have the mean length."""
    passages = passages_of(workload.corpus, index)
    call = answer_call(workload, passages.retrieved(answer.top_k), answer.prompts)
    return Expected(
        index=expected_index(passages, index), query=search(workload, [call], searches=int(answer.is_dense))
    )
