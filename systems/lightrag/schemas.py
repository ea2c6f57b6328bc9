"""Schemas for the replies to LightRAG's own prompts, which stay unchanged.

Lists are as long as its prompts allow; strings are bounded, because small models may run on.
"""

from harness.llm_utils.structured_output import list_of, object_of, string_of

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
