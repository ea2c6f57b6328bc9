"""The parameters of a run; the index is defined in `systems.common.passages`."""

from pydantic import Field

from systems.common.search import SearchParams


class AnswerParams(SearchParams):
    """Parameters that do not change the index."""

    rounds: int = Field(5, ge=1, le=20)
    """Retrievals for a query, at most; 1 is naive RAG with k_per_round passages."""
    k_per_round: int = Field(7, ge=1, le=100)
    """Passages that one round retrieves, found before or not. Not `top_k`, which would set naive's too."""
    max_questions: int = Field(3, ge=1, le=10)
    """Sub-questions that extend the query in one round, at most."""
