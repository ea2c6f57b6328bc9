"""Extracts atomic triplets with a model, window by window.

Unlike the extraction for a graph index (the most important facts of a chunk), it should be complete: a missing
fact cannot be verified.
"""

from collections.abc import Mapping
from typing import Any

from harness.core.records import Triplet
from harness.extraction.entity_names import one_line
from harness.extraction.triplet_replies import read_triplets
from harness.llm_utils.json_schema_builders import list_of, object_of, string_of
from harness.llm_utils.quoting import RULE, quoted
from harness.llm_utils.structured_output import Question, ask_json
from harness.protocols import ChatModel, Message

WINDOW = 1_200
"""Characters that a small model reads without omissions, and whose facts fit into MAX_TOKENS."""
MAX_TRIPLETS = 24
MAX_TOKENS = 900
_LONGEST = 120
"""Characters of a head, relation or tail."""

_TASK = (
    "List every fact that the text states as a triplet [head, relation, tail]. One triplet states one fact: "
    "split a sentence with several facts into several triplets. Head and tail are names, things, dates or amounts "
    "as the text writes them, never he, she, it or they. The relation is a short verb phrase, negated where the "
    "text negates it. A question's triplets say what it is about. Add nothing that the text does not say; a text "
    "without any fact has an empty list."
)
# Dots, because a small model lists the words of an example as a fact.
_FORMAT = 'Reply with JSON only: {"triplets": [["...", "...", "..."], ...]}'
_PART = string_of(_LONGEST)
_TRIPLET = {"type": "array", "items": _PART, "minItems": 3, "maxItems": 3}
_SCHEMA = object_of({"triplets": list_of(_TRIPLET, MAX_TRIPLETS)})


class JudgedTriplets:
    """Extracts from windows with a model: one call, and a second if the first reply is invalid."""

    def __init__(self, judge: ChatModel) -> None:
        self._judge = judge

    async def read(self, window: str) -> tuple[Triplet, ...]:
        """Its triplets, each once. Raises `Unreadable`, and the errors of the model's client."""
        messages = [
            Message("system", f"You read texts and list the facts they state. {RULE}\n{_TASK}\n{_FORMAT}"),
            Message("user", f"{quoted('text', window)}\n\n{_FORMAT}"),
        ]
        return (await ask_json(self._judge, Question(messages, _SCHEMA, _read, MAX_TOKENS))).value


def _read(reply: Mapping[str, Any]) -> tuple[Triplet, ...]:
    return read_triplets(reply, MAX_TRIPLETS, _valid_triplet)


def _valid_triplet(triplet: Triplet) -> Triplet | None:
    """Each part on one line and within bounds; None if a part is only dots and dashes."""
    parts = [one_line(part)[:_LONGEST] for part in triplet]
    return Triplet(*parts) if all(any(map(str.isalnum, part)) for part in parts) else None
