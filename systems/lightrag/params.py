"""The parameters of a run."""

from typing import Literal

from pydantic import Field

from harness.protocols import Params
from systems.common.chunking import ChunkParams


class IndexParams(ChunkParams):
    """Index parameters, besides the models."""

    extraction: Literal["text", "json"] = "text"
    """The library's format for entities and relations."""
    max_gleaning: int = Field(1, ge=0, le=1)
    """Whether the model is called once more for missed entities of a chunk; the library does so at most once."""
    reply_tokens: int = Field(2000, ge=100)
    """Maximum tokens of a reply to extraction or summarising."""


class AnswerParams(Params):
    """Parameters that do not change the index."""

    mode: Literal["naive", "local", "global", "hybrid", "mix"] = "mix"
    """`naive`: passages near the question; `local`: entities near its low-level keywords; `global`: relations near
    its high-level keywords; `hybrid`: both; `mix`: both and passages near the question."""
    top_k: int = Field(40, ge=1, le=1000)
    """Maximum entities, and relations, in a search."""
    chunk_top_k: int = Field(20, ge=1, le=1000)
    """Maximum passages in a search and in the prompt."""
    context_tokens: int = Field(6000, ge=500)
    """Estimated tokens of all contexts and of the space reserved for the library's own instructions: a fifth for
    entities, 27 % for relations.
    """
