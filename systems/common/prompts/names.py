"""The prompt of kg for the names in a question."""

from harness.llm_utils.structured_output import list_of, object_of, string_of
from harness.protocols import Message

MAX_NAMES = 10
MAX_NAME = 80
"""Maximum characters."""
MAX_TOKENS = 300

_TASK = (
    "List the names in the question: people, organisations, places, products, events, works and dates, "
    "as the question writes them."
)
_FORMAT = 'Reply with JSON only: {"names": ["..."]}'
NAMES_SCHEMA = object_of({"names": list_of(string_of(MAX_NAME), MAX_NAMES)})


def names_messages(question: str) -> list[Message]:
    return [
        Message("system", f"{_TASK} {_FORMAT}"),
        Message("user", f"Question: {question}\n\n{_TASK} {_FORMAT}"),
    ]
