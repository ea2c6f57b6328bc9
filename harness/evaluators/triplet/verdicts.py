"""A verdict on every triplet of a list, as one number each: few tokens, unambiguous."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.core.records import Triplet
from harness.evaluators.context_windows import ContextWindow
from harness.llm_utils.json_schema_builders import integer_among, list_of, object_of
from harness.llm_utils.quoting import RULE, quoted
from harness.llm_utils.structured_output import Question, ask_json
from harness.protocols import ChatModel, Message

AT_ONCE = 24
"""Triplets per call: the number from one window, which a small model can still handle."""
_MATERIAL = f"{RULE} Only what stands there counts, not what you know."


@dataclass(frozen=True)
class _Verdicts:
    """A request for verdicts on triplets."""

    role: str
    task: str
    material: str
    """The text that the triplets are compared with."""
    name: str
    """Name of the list in the reply."""
    numbers: frozenset[int]
    """Possible verdicts besides 0."""


async def supporting_passages(judge: ChatModel, window: ContextWindow, triplets: Sequence[Triplet]) -> list[int]:
    """For each triplet the number of the window's passage that supports it; 0 if none does."""
    wanted = _Verdicts(
        role=f"You look for the passage that supports a statement. {_MATERIAL}",
        task="For each statement give the number of the passage that states it, or 0 if no passage does.",
        material=quoted("passages", window.text),
        name="passages",
        numbers=window.ranks,
    )
    return await _verdicts(judge, wanted, triplets)


async def stated_in(judge: ChatModel, question: str, answer: str, triplets: Sequence[Triplet]) -> list[int]:
    """For each triplet 1 if this answer to the question states it, otherwise 0."""
    wanted = _Verdicts(
        role=f"You compare an answer to a question with statements. {_MATERIAL}",
        task="For each statement give 1 if the answer, as a reply to the question, says the same in any words, "
        "and 0 if it says something else or nothing about it.",
        material=f"{quoted('question', question)}\n\n{quoted('answer', answer)}",
        name="stated",
        numbers=frozenset({1}),
    )
    return await _verdicts(judge, wanted, triplets)


async def _verdicts(judge: ChatModel, wanted: _Verdicts, triplets: Sequence[Triplet]) -> list[int]:
    """One call per `AT_ONCE` triplets; a second if the reply does not have one verdict each, then `Unreadable`."""
    found: list[int] = []
    for start in range(0, len(triplets), AT_ONCE):
        asked = _question(wanted, triplets[start : start + AT_ONCE])
        found += (await ask_json(judge, asked)).value
    return found


def _question(wanted: _Verdicts, triplets: Sequence[Triplet]) -> Question[list[int]]:
    count = len(triplets)
    listed = "\n".join(f"{number}. {' | '.join(triplet)}" for number, triplet in enumerate(triplets, start=1))
    task = (
        f"{wanted.task} Reply with JSON only, a list of {count} numbers, one for each statement in their order: "
        f'{{"{wanted.name}": [...]}}'
    )
    # The constant part comes first, for prompt caches.
    messages = [
        Message("system", f"{wanted.role}\n{wanted.task}"),
        Message("user", f"{wanted.material}\n\n{quoted('statements', listed)}\n\n{task}"),
    ]
    numbers = {**list_of(integer_among(wanted.numbers | {0}), count), "minItems": count}

    def read(reply: Mapping[str, Any]) -> list[int]:
        return _read(reply.get(wanted.name), count, wanted.numbers)

    return Question(messages, object_of({wanted.name: numbers}), read, max_tokens=20 + 4 * count)


def _read(listed: object, count: int, numbers: frozenset[int]) -> list[int]:
    if not isinstance(listed, list) or len(listed) != count:
        raise ValueError(f"no list of {count} numbers")
    if not all(type(number) is int and number in numbers | {0} for number in listed):
        raise ValueError(f"one of its numbers is not among {', '.join(map(str, sorted(numbers | {0})))}")
    return listed
