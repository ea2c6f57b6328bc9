"""The parameters of a run; the index is defined in `systems.common.passages`."""

from pydantic import Field

from systems.common.search import SearchParams


class AnswerParams(SearchParams):
    """Parameters that do not change the index."""

    max_steps: int = Field(4, ge=1, le=20)
    """Maximum decisions of the model per query, each a search or the end; the answer is written after them."""
    k_per_round: int = Field(5, ge=1, le=100)
    """Passages per search, including earlier ones. Not `top_k`, which would also set naive's."""
