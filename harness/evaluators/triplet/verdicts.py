"""Parameters and judge calls: a verdict on every triplet of a list, as one number each (few tokens, unambiguous),
and the questions that an answer could answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pydantic import Field

from harness.core.records import Triplet
from harness.evaluators.context_windows import LONGEST, ContextCharacters, ContextWindow
from harness.llm_utils.answer_contract import RULE, quoted
from harness.llm_utils.structured_output import Question, ask_json, integer_among, list_of, object_of, string_of
from harness.protocols import ChatModel, Message, Params

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


_LONGEST_QUESTION = 160
_ROLE = f"You write questions about a text. {RULE}"


async def questions_answered(judge: ChatModel, text: str, count: int) -> tuple[str, ...]:
    """This number of questions that the text answers, written in one call without knowing the query.

    A second call if the reply has another number; then `Unreadable`.
    """
    task = _task(count)
    messages = [Message("system", f"{_ROLE}\n{task}"), Message("user", f"{quoted('text', text)}\n\n{task}")]
    listed = {**list_of(string_of(_LONGEST_QUESTION), count), "minItems": count}

    def read(reply: Mapping[str, Any]) -> tuple[str, ...]:
        return _statements(reply, count)

    # 160 characters are about 40 tokens.
    asked = Question(messages, object_of({"questions": listed}), read, max_tokens=20 + 50 * count)
    return (await ask_json(judge, asked)).value


def _task(count: int) -> str:
    wanted = "one short question" if count == 1 else f"{count} different short questions"
    return (
        f"Write {wanted} that the text answers. Each can be understood without the text: it names the people, "
        'things and places that it asks about. Reply with JSON only: {"questions": ["..."]}'
    )


def _statements(reply: Mapping[str, Any], count: int) -> tuple[str, ...]:
    listed = reply.get("questions")
    if not isinstance(listed, list) or len(listed) != count:
        raise ValueError(f"no list of {count} questions")
    if not all(isinstance(text, str) and text.strip() for text in listed):
        raise ValueError("one of its questions is empty or no text")
    return tuple(" ".join(text.split())[:_LONGEST_QUESTION] for text in listed)


AT_ONCE = 24
"""Triplets per call: the number from one window, which a small model can still handle."""
MATERIAL = f"{RULE} Only what stands there counts, not what you know."


@dataclass(frozen=True)
class VerdictRequest:
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
    wanted = VerdictRequest(
        role=f"You look for the passage that supports a statement. {MATERIAL}",
        task="For each statement give the number of the passage that states it, or 0 if no passage does.",
        material=quoted("passages", window.text),
        name="passages",
        numbers=window.ranks,
    )
    return await verdicts_on(judge, wanted, triplets)


async def stated_triplets(judge: ChatModel, question: str, answer: str, triplets: Sequence[Triplet]) -> list[int]:
    """For each triplet 1 if this answer to the question states it, otherwise 0."""
    wanted = VerdictRequest(
        role=f"You compare an answer to a question with statements. {MATERIAL}",
        task="For each statement give 1 if the answer, as a reply to the question, says the same in any words, "
        "and 0 if it says something else or nothing about it.",
        material=f"{quoted('question', question)}\n\n{quoted('answer', answer)}",
        name="stated",
        numbers=frozenset({1}),
    )
    return await verdicts_on(judge, wanted, triplets)


async def verdicts_on(judge: ChatModel, wanted: VerdictRequest, triplets: Sequence[Triplet]) -> list[int]:
    """One call per `AT_ONCE` triplets; a second if the reply does not have one verdict each, then `Unreadable`."""
    found: list[int] = []
    for start in range(0, len(triplets), AT_ONCE):
        asked = _question(wanted, triplets[start : start + AT_ONCE])
        found += (await ask_json(judge, asked)).value
    return found


def numbered(triplets: Sequence[Triplet]) -> str:
    """A line for each, numbered from 1."""
    return "\n".join(f"{number}. {' | '.join(triplet)}" for number, triplet in enumerate(triplets, start=1))


def _question(wanted: VerdictRequest, triplets: Sequence[Triplet]) -> Question[list[int]]:
    count = len(triplets)
    task = (
        f"{wanted.task} Reply with JSON only, a list of {count} numbers, one for each statement in their order: "
        f'{{"{wanted.name}": [...]}}'
    )
    # The constant part comes first, for prompt caches.
    messages = [
        Message("system", f"{wanted.role}\n{wanted.task}"),
        Message("user", f"{wanted.material}\n\n{quoted('statements', numbered(triplets))}\n\n{task}"),
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
