"""The parameters of a run; the graph is defined in `systems.common.graph_index`."""

from typing import Literal

from pydantic import Field

from systems.common.graph_index import GraphIndexParams
from systems.common.search import SearchParams


class IndexParams(GraphIndexParams):
    """Index parameters: those of kg's graph, and its synonyms."""

    statements: bool = False
    """As in kg; the walk does not read sentences, so none are embedded."""
    synonym_threshold: float = Field(0.8, gt=0, le=1)
    """Lowest cosine of two names that are joined as synonyms."""


class AnswerParams(SearchParams):
    """Parameters that do not change the index. `search` is used for questions without a name."""

    top_k: int = Field(10, ge=1, le=1000)
    """Passages for the generator."""
    names_by: Literal["rules", "model"] = "rules"
    """How names in the question are found: `rules`: quotation marks and capitals; `model`: one more model call."""
    link_from: float = Field(0.6, ge=-1, le=1)
    """Lowest cosine of a name in the question and its entity; -1: any, as in the paper."""
    damping: float = Field(0.5, gt=0, lt=1)
    """Probability that the walk follows an edge instead of starting again at the question's entities."""
