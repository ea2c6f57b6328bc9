"""What a run may choose; what determines the index is how documents are cut (`systems.parts.chunking`)."""

from pydantic import Field

from harness.protocols import Params


class AnswerParams(Params):
    """What a change of may reuse the index."""

    top_k: int = Field(10, ge=1, le=1000)
    """Passages handed to the generator."""
