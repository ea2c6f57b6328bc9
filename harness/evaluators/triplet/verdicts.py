"""Parameters, the judge call with a verdict on every triplet of a list (a number each: few tokens, unambiguous),
and the wording of explanations.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar, get_args

from pydantic import Field

from harness.core.records import Triplet
from harness.evaluators.context_windows import LONGEST, ContextCharacters
from harness.llm_utils.answer_contract import RULE, quoted
from harness.llm_utils.structured_output import Question, ask_json, list_of, object_of
from harness.protocols import ChatModel, Message, Params

T = TypeVar("T")
TripletMetric = Literal[
    "response_relevancy",
    "faithfulness",
    "faithfulness_cosine",
    "factual_correctness",
    "factual_correctness_cosine",
    "faithfulness_published",
    "faithfulness_cosine_published",
    "factual_correctness_published",
    "factual_correctness_cosine_published",
]
PUBLISHED = tuple(name for name in get_args(TripletMetric) if name.endswith("_published"))
"""The metrics that ask what LLM-eval asks, in its order."""
_OURS = tuple(name for name in get_args(TripletMetric) if name not in PUBLISHED)


class TripletParams(Params):
    metrics: tuple[TripletMetric, ...] = Field(_OURS, min_length=1)
    """Those named `_published` cost three more calls an answer and are left out by default."""
    questions: int = Field(3, ge=1, le=10)
    """Number of questions written for each window of the contexts, in one call, for response relevancy."""
    threshold: float = Field(0.9, ge=-1, le=1)
    """Minimum cosine of two triplets that are the same fact, in the cosine variants of factual correctness."""
    context_characters: ContextCharacters = LONGEST
    """Size of a window of contexts: longer contexts are judged window by window."""


async def ask(
    judge: ChatModel,
    system: str,
    user: str,
    schema: Mapping[str, Any],
    read: Callable[[Mapping[str, Any]], T],
    max_tokens: int,
) -> T:
    """What `read` makes of the reply, an object with the properties of `schema`. If it raises ValueError, the
    judge is asked once more; then `Unreadable`.
    """
    messages = [Message("system", system), Message("user", user)]
    return (await ask_json(judge, Question(messages, object_of(schema), read, max_tokens))).value


AT_ONCE = 24
"""Triplets per call: the number from one window, which a small model can still handle."""
MATERIAL = f"{RULE} Only what stands there counts, not what you know."


async def verdicts_on(
    judge: ChatModel,
    triplets: Sequence[Triplet],
    *,
    role: str,
    task: str,
    material: str,
    name: str,
    numbers: frozenset[int] = frozenset({1}),
) -> list[int]:
    """A number for each triplet: 0 or one of `numbers`. `material`: the text that the triplets are compared with;
    `name`: that of the list in the reply.

    One call per `AT_ONCE` triplets.
    """
    allowed, found = numbers | {0}, list[int]()
    for start in range(0, len(triplets), AT_ONCE):
        part = triplets[start : start + AT_ONCE]
        count = len(part)
        form = (
            f"{task} Reply with JSON only, a list of {count} numbers, one for each statement in their order: "
            f'{{"{name}": [...]}}'
        )
        # The constant part comes first, for prompt caches.
        user = f"{material}\n\n{quoted('statements', numbered(part))}\n\n{form}"

        def read(reply: Mapping[str, Any], count: int = count) -> list[int]:
            listed = reply.get(name)
            if not isinstance(listed, list) or len(listed) != count:
                raise ValueError(f"no list of {count} numbers")
            if not all(type(number) is int and number in allowed for number in listed):
                raise ValueError(f"one of its numbers is not among {', '.join(map(str, sorted(allowed)))}")
            return listed

        verdict = {"type": "integer", "enum": sorted(allowed)}
        schema = {name: {**list_of(verdict, count), "minItems": count}}
        found += await ask(judge, f"{role}\n{task}", user, schema, read, 20 + 4 * count)
    return found


def numbered(triplets: Sequence[Triplet]) -> str:
    """A line for each, numbered from 1."""
    return "\n".join(f"{number}. {' | '.join(triplet)}" for number, triplet in enumerate(triplets, start=1))


def texts_of_triplets(triplets: Iterable[Triplet]) -> list[str]:
    return [" ".join(triplet) for triplet in triplets]


def share_found(triplets: Sequence[Triplet], found: Sequence[bool], how: str, note: str = "") -> tuple[float, str]:
    """The share that was found, with the first that was not."""
    missing = [" | ".join(triplet) for triplet, is_found in zip(triplets, found, strict=True) if not is_found]
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    count = f"{sum(found)} of {len(found)} {how}"
    return sum(found) / len(found), joined(count, note, f"not: {missing[0]}{more}" if missing else "")


def joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def rounded(cosines: Iterable[float]) -> str:
    return " ".join(f"{cosine:.2f}" for cosine in cosines)
