"""The parameters of a run, and the schemas of replies to LightRAG's own prompts, which stay unchanged.

Lists are as long as its prompts allow; strings are bounded, because small models may run on.
"""

from typing import Literal

from pydantic import Field

from harness.llm_utils.structured_output import list_of, object_of, string_of
from harness.protocols import Params
from systems.common.chunking import ChunkParams

KEYWORDS_MAX_TOKENS = 300
_MOST_ENTITIES = 40
_MOST_RECORDS = 100
_NAME = string_of(80)
_DESCRIPTION = string_of(400)
_WORDS = list_of(_NAME, 12)

KEYWORDS_SCHEMA = object_of({"high_level_keywords": _WORDS, "low_level_keywords": _WORDS})
GRAPH_SCHEMA = object_of(
    {
        "entities": list_of(
            object_of({"name": _NAME, "type": _NAME, "description": _DESCRIPTION}), _MOST_ENTITIES
        ),
        "relationships": list_of(
            object_of({"source": _NAME, "target": _NAME, "keywords": _NAME, "description": _DESCRIPTION}),
            _MOST_RECORDS - _MOST_ENTITIES,
        ),
    }
)


class IndexParams(ChunkParams):
    extraction: Literal["text", "json"] = "text"
    """The library's format for entities and relations."""
    max_gleaning: int = Field(1, ge=0, le=1)
    """Whether the model is called once more for missed entities of a chunk; the library does so at most once."""
    reply_tokens: int = Field(2000, ge=100)
    """Maximum tokens of a reply to extraction or summarising."""


class AnswerParams(Params):
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
