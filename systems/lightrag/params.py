"""The parameters of a run."""

from typing import Literal

from pydantic import Field

from harness.protocols import Params
from systems.common.chunking import ChunkParams


class IndexParams(ChunkParams):
    """What determines the index, beside the models."""

    extraction: Literal["text", "json"] = "text"
    """Which of the library's two formats is used for entities and relations."""
    max_gleaning: int = Field(1, ge=0, le=1)
    """Whether the model is asked once more for what it missed in a chunk; the library does so at most once."""
    reply_tokens: int = Field(2000, ge=100)
    """Of a reply of extraction or of a summary of descriptions, at most."""


class AnswerParams(Params):
    """Parameters that do not change the index."""

    mode: Literal["naive", "local", "global", "hybrid", "mix"] = "mix"
    """`naive`: passages near the question; `local`: entities near its low-level keywords; `global`: relations near
    its high-level keywords; `hybrid`: both; `mix`: both and passages near the question."""
    top_k: int = Field(40, ge=1, le=1000)
    """Entities, and relations, that are searched for."""
    chunk_top_k: int = Field(20, ge=1, le=1000)
    """Passages that are searched for, and handed to the generator at most."""
    context_tokens: int = Field(6000, ge=500)
    """Estimated tokens of all that is handed over and of the library's own instructions, for which it keeps room:
    a fifth are for entities, 27 % for relations."""
