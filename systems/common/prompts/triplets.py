"""The prompt of the bounded extractor: the facts of a text as triplets."""

from harness.llm_utils.structured_output import list_of, object_of, string_of
from harness.protocols import Message

MAX_TRIPLETS = 10
MAX_NAME, MAX_RELATION = 60, 40
"""Maximum characters."""
MAX_TOKENS = 700
"""Ten triplets of maximum length, with their brackets."""

_TASK = (
    f"List up to {MAX_TRIPLETS} facts that the text states, the most important first, as triplets: "
    "head (who or what it is about), relation (a verb or short phrase), tail (who, what, where or when). "
    "Head and tail are names as the text writes them: people, organisations, places, products, events, dates, "
    "amounts. Never he, she, it or they. State nothing that the text does not say."
)
_FORMAT = 'Reply with JSON only: {"triplets": [{"head": "...", "relation": "...", "tail": "..."}]}'
_TRIPLET = object_of(
    {"head": string_of(MAX_NAME), "relation": string_of(MAX_RELATION), "tail": string_of(MAX_NAME)}
)
TRIPLETS_SCHEMA = object_of({"triplets": list_of(_TRIPLET, MAX_TRIPLETS)})


def triplets_messages(text: str) -> list[Message]:
    """The prompt for the triplets of `text`."""
    return [
        Message("system", f"You read texts and list the facts they state.\n{_TASK}\n{_FORMAT}"),
        Message("user", f"Text:\n\n{text}\n\n{_TASK}\n{_FORMAT}"),
    ]
