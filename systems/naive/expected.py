"""What naive expects to ask of models: every chunk embedded, then one search and one generation a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.protocols import Workload
from harness.records import Expected
from systems.parts.chunking import ChunkParams
from systems.parts.expected import answer_call, passages_of, search

if TYPE_CHECKING:
    from systems.naive.system import AnswerParams


def expect(index: ChunkParams, answer: AnswerParams, workload: Workload) -> Expected:
    """See `SystemSpec.expect`. Exact in calls; passages are taken to be of mean length."""
    passages = passages_of(workload.corpus, index)
    call = answer_call(workload, passages.retrieved(answer.top_k), answer.style)
    return Expected(index=passages.embedding(), query=search(workload, [call]))
