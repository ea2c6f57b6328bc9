"""What naive expects to ask of models: every chunk embedded, then one search and one generation a query."""

from harness.protocols import Workload
from harness.records import Expected
from systems.naive.params import AnswerParams
from systems.parts.chunking import ChunkParams
from systems.parts.expected import answer_call, passages_of, search


def expect(index: ChunkParams, answer: AnswerParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. Exact in calls; passages are taken to be of mean length."""
    passages = passages_of(workload.corpus, index)
    call = answer_call(workload, passages.retrieved(answer.top_k))
    return Expected(index=passages.embedding(), query=search(workload, [call]))
