"""The parameters of a run; the index is defined in `systems.common.passages`."""

from pydantic import Field

from systems.common.search import SearchParams


class AnswerParams(SearchParams):
    """Parameters that do not change the index."""

    rounds: int = Field(5, ge=1, le=20)
    """Maximum retrieval rounds per query; 1 is naive RAG with k_per_round passages."""
    k_per_round: int = Field(7, ge=1, le=100)
    """Passages per round, including earlier ones. Not `top_k`, which would also set naive's."""
    max_questions: int = Field(3, ge=1, le=10)
    """Maximum sub-questions that extend the query per round."""
