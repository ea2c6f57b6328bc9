"""The replies to LightRAG's own prompts, as schemas for servers that know them: its prompts stay its own.

Lists are as long as its prompts allow; strings are bounded, for a small model that may run on does so.
"""

from harness.llm_utils.json_schema_builders import list_of, object_of, string_of

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
