"""Extracts atomic triplets with a model, window by window.

Unlike the extraction for a graph index (the most important facts of a chunk), it should be complete: a missing
fact cannot be verified.
"""

from collections.abc import Callable

from harness.core.records import Triplet
from harness.extraction.entity_names import one_line
from harness.llm_utils.answer_contract import RULE, quoted
from harness.llm_utils.structured_output import Question, ask_json, list_of, object_of, string_of
from harness.protocols import ChatModel, Message


def read_triplets(listed: object, most: int, accept: Callable[[Triplet], Triplet | None]) -> tuple[Triplet, ...]:
    """The first `most` distinct triplets of a list: objects with head, relation and tail, or lists.

    Others, and those with an empty part, are dropped: a server that does not enforce the schema may send them.
    `accept` shortens or rejects a triplet. ValueError if there is no list, or no valid triplet in a non-empty one.
    """
    if not isinstance(listed, list):
        raise ValueError("no list of triplets")
    stated = (triplet for item in listed[:most] if (triplet := _parsed_triplet(item)))
    accepted = tuple(dict.fromkeys(triplet for one in stated if (triplet := accept(one))))
    if listed and not accepted:
        raise ValueError("none of its triplets has a head, a relation and a tail")
    return accepted


def _parsed_triplet(item: object) -> Triplet | None:
    parts = [item.get(name) for name in Triplet._fields] if isinstance(item, dict) else item
    if not isinstance(parts, list) or len(parts) != len(Triplet._fields):
        return None
    is_stated = all(isinstance(part, str) and part.strip() for part in parts)
    return Triplet(*(part.strip() for part in parts)) if is_stated else None


WINDOW = 1_200
"""Characters that a small model reads without omissions, and whose facts fit into MAX_TOKENS."""
MAX_TRIPLETS = 24
MAX_TOKENS = 900
_LONGEST = 120
"""Characters of a head, relation or tail."""

TRIPLET_RULES = (
    "One triplet states one fact: "
    "split a sentence with several facts into several triplets. Head and tail are names, things, dates or amounts "
    "as the text writes them, never he, she, it or they. The relation is a short verb phrase, negated where the "
    "text negates it."
)
_TASK = (
    f"List every fact that the text states as a triplet [head, relation, tail]. {TRIPLET_RULES} "
    "A question's triplets say what it is about. Add nothing that the text does not say; a text "
    "without any fact has an empty list."
)
# Dots, because a small model lists the words of an example as a fact.
_FORMAT = 'Reply with JSON only: {"triplets": [["...", "...", "..."], ...]}'
_PART = string_of(_LONGEST)
_TRIPLET = {"type": "array", "items": _PART, "minItems": 3, "maxItems": 3}
TRIPLET_LIST = list_of(_TRIPLET, MAX_TRIPLETS)
"""JSON Schema of the triplets of one text."""
_SCHEMA = object_of({"triplets": TRIPLET_LIST})


async def judged_triplets(judge: ChatModel, window: str) -> tuple[Triplet, ...]:
    """The triplets of a window, each once: one call, and a second if the first reply is invalid. Raises
    `Unreadable`, and the errors of the model's client.
    """
    messages = [
        Message("system", f"You read texts and list the facts they state. {RULE}\n{_TASK}\n{_FORMAT}"),
        Message("user", f"{quoted('text', window)}\n\n{_FORMAT}"),
    ]
    asked = Question(messages, _SCHEMA, lambda reply: valid_triplets(reply.get("triplets")), MAX_TOKENS)
    return (await ask_json(judge, asked)).value


def valid_triplets(listed: object) -> tuple[Triplet, ...]:
    """The distinct triplets of a list in a reply, within bounds. ValueError: see `read_triplets`."""
    return read_triplets(listed, MAX_TRIPLETS, _valid_triplet)


def _valid_triplet(triplet: Triplet) -> Triplet | None:
    """Each part on one line and within bounds; None if a part is only dots and dashes."""
    parts = [one_line(part)[:_LONGEST] for part in triplet]
    return Triplet(*parts) if all(any(map(str.isalnum, part)) for part in parts) else None
