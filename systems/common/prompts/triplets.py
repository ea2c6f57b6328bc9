"""The prompt of the bounded extractor: the facts of a text as triplets."""

from typing import Any

from harness.llm_utils.structured_output import list_of, object_of, string_of
from harness.protocols import Message
from systems.common.extraction.extractor import Focus

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
MAX_DATE = 40
"""Maximum characters."""


def triplets_schema(focus: Focus) -> dict[str, Any]:
    relation = {"type": "string", "enum": list(focus.relation_types)} if focus.relation_types else None
    parts = {
        "head": string_of(MAX_NAME),
        "relation": relation or string_of(MAX_RELATION),
        "tail": string_of(MAX_NAME),
    }
    dated = {"date": string_of(MAX_DATE)} if focus.dates else {}
    return object_of({"triplets": list_of(object_of({**parts, **dated}), MAX_TRIPLETS)})


def triplets_messages(text: str, focus: Focus = Focus()) -> list[Message]:  # noqa: B008 - it is frozen
    task = _task(focus)
    return [
        Message("system", f"You read texts and list the facts they state.\n{task}"),
        Message("user", f"Text:\n\n{text}\n\n{task}"),
    ]


def _task(focus: Focus) -> str:
    dated = ', "date": "..."' if focus.dates else ""
    rules = [_TASK]
    if focus.dates:
        rules.append("Add the date of a fact, as the text says it: when it happened or held, or an empty text.")
    if focus.entity_types:
        rules.append(f"Head and tail are of these kinds only: {', '.join(focus.entity_types)}.")
    if focus.relation_types:
        rules.append(
            f"The relation is one of these: {', '.join(focus.relation_types)}. Leave out all other facts."
        )
    form = f'{{"head": "...", "relation": "...", "tail": "..."{dated}}}'
    return f'{" ".join(rules)}\nReply with JSON only: {{"triplets": [{form}]}}'
