"""The parameters of a run; the index is defined in `systems.common.passages`."""

from pydantic import Field

from systems.common.search import SearchParams


class AnswerParams(SearchParams):
    """Parameters that do not change the index."""

    top_k: int = Field(10, ge=1, le=1000)
    """Passages for the generator."""
