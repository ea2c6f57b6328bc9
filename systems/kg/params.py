"""What a run may choose; what determines the graph stands in `systems.parts.graph_index`."""

from typing import Literal

from pydantic import Field

from harness.protocols import GENERATES, NO_ROLE, Role
from systems.parts.graph_index import GraphIndexParams
from systems.parts.searching import SearchParams

Mode = Literal["hybrid", "triplets", "triplets+text"]


class AnswerParams(SearchParams):
    """What a change of may reuse the index."""

    mode: Mode = "hybrid"
    """`hybrid`: passages by `search`, then triplets (thesis); `triplets`: the graph alone; `triplets+text`: the
    passages that state the triplets, without a search for passages, then the triplets."""
    top_k: int = Field(4, ge=1, le=1000)
    """Passages handed to the generator; none in mode `triplets`."""
    max_triplets: int = Field(20, ge=1, le=1000)
    """Triplets handed to the generator."""
    entities_per_name: int = Field(3, ge=1, le=50)
    """Entities that full-text search may find for one name of the question."""
    names_by: Literal["rules", "model"] = "rules"
    """How the question's names are found: quotation marks and capitals, or one more model call."""


def answer_roles(_index: GraphIndexParams, answer: AnswerParams) -> frozenset[Role]:
    """Only a search for passages embeds the question."""
    return GENERATES | (answer.search_roles if answer.mode == "hybrid" else NO_ROLE)
