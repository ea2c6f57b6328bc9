"""The agent's expected model calls, if every first statement fails."""

from harness.core.records import Expected, ExpectedCalls
from harness.protocols import Workload
from systems.common.expected_calls import answer_call, characters_of, filler, passages_of, search, typical_question
from systems.common.expected_graph import expected_graph
from systems.common.graph_index import GraphIndexParams
from systems.common.prompts.cypher import MAX_TOKENS, cypher_messages, repair_messages
from systems.cypher_agent.params import AnswerParams

_STATEMENT = "x" * 200
_PUBLISHERS = ["x" * 15] * 10


def expect(index: GraphIndexParams, answer: AnswerParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. An upper bound: all repairs are used, then passages or the maximum of rows."""
    passages = passages_of(workload.corpus, index)
    graph, notes = expected_graph(index, passages)
    question = typical_question(workload.queries)
    first = cypher_messages(question, _PUBLISHERS)
    prompts = [first, *[repair_messages(first, _STATEMENT, _STATEMENT)] * answer.repairs]
    asked = [
        ExpectedCalls(calls=1, input_characters=characters_of(prompt), output_tokens_most=MAX_TOKENS)
        for prompt in prompts
    ]
    found = passages.retrieved(answer.top_k)
    rows = filler(answer.rows, answer.row_characters)
    longest = max(found, rows, key=lambda contexts: sum(len(context.text) for context in contexts))
    return Expected(
        index=graph,
        query=search(
            workload, [*asked, answer_call(workload, longest, answer.prompts)], searches=int(answer.is_dense)
        ),
        most=f"{answer.repairs} repairs and {answer.rows} full rows for every query",
        notes=notes,
    )
