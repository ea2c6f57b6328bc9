"""Expected model calls of kg: a graph of every chunk, then one generation per query."""

from harness.core.records import Expected
from harness.protocols import Workload
from systems.common.expected_calls import answer_call, passages_of, search
from systems.common.expected_graph import expected_graph, expected_search
from systems.common.graph_index import GraphIndexParams
from systems.common.graph_search.params import GraphSearchParams


def expect(index: GraphIndexParams, answer: GraphSearchParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. Assumes the maximum number of triplets (`max_triplets`) for every query."""
    passages = passages_of(workload.corpus, index)
    graph, notes = expected_graph(index, passages)
    found = expected_search(answer, passages, workload)
    return Expected(
        index=graph,
        query=search(
            workload,
            [*found.calls, answer_call(workload, found.contexts, answer.prompts)],
            searches=found.searches,
        ),
        most=found.most,
        notes=(*notes, *found.notes),
    )
