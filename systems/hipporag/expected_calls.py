"""Expected model calls of hipporag: kg's graph with its entities embedded, then the names of the question."""

from harness.core.records import Expected
from harness.protocols import Workload
from systems.common.expected_calls import answer_call, passages_of, search
from systems.common.expected_graph import expected_graph, names_calls
from systems.hipporag.params import AnswerParams, IndexParams

_ENTITIES, _NAME_CHARACTERS = 5, 13
"""New entities of a passage, and characters of a name. Seen with the parser: 3.6 (demo) and 5.5 (MultiHop-RAG)."""
_NAMES = 5
"""Names in a question. Seen: 4.3 in the demo, 5.2 in MultiHop-RAG."""


def expect(index: IndexParams, answer: AnswerParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. Exact in calls of the generator; embedded names are an assumption."""
    passages = passages_of(workload.corpus, index)
    graph, notes = expected_graph(index, passages)
    entities = _ENTITIES * passages.count
    embedded = {
        "embedded_texts": graph.embedded_texts + entities,
        "embedded_characters": graph.embedded_characters + entities * _NAME_CHARACTERS,
    }
    last = answer_call(workload, passages.retrieved(answer.top_k), answer.prompts)
    return Expected(
        index=graph.model_copy(update=embedded),
        query=search(workload, [*names_calls(answer.names_by, workload), last], searches=_NAMES),
        notes=(*notes, f"every passage is taken to name {_ENTITIES} new entities, and a question {_NAMES}"),
    )
