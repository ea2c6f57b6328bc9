"""What a run may choose; what determines the index stands in `systems.common.passages`."""

from pydantic import Field

from systems.common.search import SearchParams


class AnswerParams(SearchParams):
    """What a change of may reuse the index."""

    top_k: int = Field(10, ge=1, le=1000)
    """Passages handed to the generator."""
