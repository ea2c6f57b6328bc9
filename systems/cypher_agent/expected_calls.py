"""The agent's expected model calls, if every first statement fails."""

from harness.core.records import Expected, ExpectedCalls
from harness.protocols import Workload
from systems.common.agent_memory import LONGEST_OBSERVATION
from systems.common.cypher.graph_schema import DOCUMENTS
from systems.common.expected_calls import answer_call, characters_of, filler, passages_of, search, typical_question
from systems.common.expected_graph import expected_graph
from systems.common.prompts.agent import MAX_TOKENS as DECISION_TOKENS
from systems.common.prompts.agent import agent_messages
from systems.common.prompts.cypher import MAX_TOKENS, cypher_messages, repair_messages
from systems.cypher_agent.params import AgentIndexParams, AnswerParams
from systems.cypher_agent.schema_file import read_schema

_STATEMENT = "x" * 200
_PUBLISHERS = ["x" * 15] * 10


def expect(index: AgentIndexParams, answer: AnswerParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. An upper bound: all repairs are used, then passages or the maximum of rows; or all
    rounds of the agent, each with a statement.
    """
    passages = passages_of(workload.corpus, index)
    if index.schema is None:
        schema, (graph, notes) = DOCUMENTS, expected_graph(index, passages)
    else:
        (_, schema), graph, notes = read_schema(index.schema), passages.embedding(index.headings is True), ()
    question = typical_question(workload.queries)
    first = cypher_messages(question, () if index.schema else _PUBLISHERS, schema)
    prompts = [first, *[repair_messages(first, _STATEMENT, _STATEMENT)] * answer.repairs]
    asked = [
        ExpectedCalls(calls=1, input_characters=characters_of(prompt), output_tokens_most=MAX_TOKENS)
        for prompt in prompts
    ]
    found = passages.retrieved(answer.top_k)
    rows = filler(answer.rows, answer.row_characters)
    longest = max(found, rows, key=lambda contexts: sum(len(context.text) for context in contexts))
    most = f"{answer.repairs} repairs and {answer.rows} full rows for every query"
    if answer.agent == "react":
        observed = ["x" * min(sum(len(one.text) for one in longest), LONGEST_OBSERVATION)]
        decisions = [agent_messages(schema.about, question, observed * number) for number in range(answer.rounds)]
        asked = asked * answer.rounds + [
            ExpectedCalls(calls=1, input_characters=characters_of(prompt), output_tokens_most=DECISION_TOKENS)
            for prompt in decisions
        ]
        most = f"{answer.rounds} rounds with {most}"
    calls = [*asked, answer_call(workload, longest, answer.prompts)]
    return Expected(
        index=graph,
        query=search(workload, calls, searches=int(answer.is_dense)),
        most=most,
        notes=notes,
    )
