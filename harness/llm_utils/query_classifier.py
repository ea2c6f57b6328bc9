"""Classifies a question by its wording: by rules, or by one short reply of a model.

The three types of questions over several documents in MultiHop-RAG (Tang & Yang 2024, arXiv 2401.15391): an
`inference` asks for what several sources describe, a `comparison` whether they agree or which is more, a
`temporal` question what changed or came first. The rules are for English; docs/choose-a-route.md has their
accuracy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args

from harness.llm_utils.structured_output import Question, ask_json, object_of
from harness.protocols import ChatModel, Message

QueryType = Literal["inference", "comparison", "temporal"]
QUERY_TYPES: tuple[QueryType, ...] = get_args(QueryType)

_AUXILIARY = r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)"
_YES_OR_NO = re.compile(
    rf"\W*{_AUXILIARY}\b|.*?,\s*{_AUXILIARY}\b|.*?\b{_AUXILIARY} (?:there|the|both|it)\b", re.I
)
_NAMES = re.compile(r".*?\b(?:who|whom|whose|which|what|where|how (?:many|much))\b", re.I)
_IN_TIME = re.compile(
    # The sentence begins with two points in time, or with one that precedes the question.
    r"^\W*(?:between|before|after|since|following)\b"
    # Reports in the order of their days.
    r"|\bpublished (?:on|in|at|before|after|earlier|later|prior)\b"
    r"|\b(?:before|after|since|until|prior to)\b[^,.?]{0,80}"
    r"\b(?:report(?:s|ed)?|articles?|coverage|mentioned|discussed)\b"
    r"|\b(?:subsequent|previous|earlier|later) (?:reports?|articles?|coverage)\b"
    # What became of something.
    r"|\b(?:change[ds]?|shift(?:ed|s)?|remain(?:ed|s)?|stay(?:ed|s)?)\b[^,.?]{0,80}\b(?:between|since|from|after|before)\b"
    r"|\bthere (?:been )?(?:a |any |no )*(?:change|shift|(?:in)?consistency)\b"
    r"|^\W*(?:has|have|did)\b[^?]*\b(?:changed?|shift(?:ed)?|remain(?:ed)?|become)\b"
    r"|\b(?:no longer|over time|chronolog\w+|before or after)\b"
    r"|\b(?:earlier|later|sooner|more recently|longer ago) than\b|\b(?:came|come|happened|happen) first\b",
    re.I,
)  # fmt: skip


def type_by_rules(question: str) -> QueryType:
    """By rules: a point in time beside another makes it temporal; a question for a name is an inference; a
    question for yes or no, or for one of two, is a comparison. Every text has a type.
    """
    asks_whether, asks_name = _YES_OR_NO.match(question), _NAMES.match(question)
    names = asks_name is not None and (asks_whether is None or asks_name.end() < asks_whether.end())
    if names:
        return "temporal" if _BEGINS_IN_TIME.match(question) else "inference"
    return "temporal" if _IN_TIME.search(question) else "comparison"


_BEGINS_IN_TIME = re.compile(r"\W*(?:between|before|after|since)\b", re.I)


async def type_by_model(chat: ChatModel, question: str) -> QueryType:
    """One constrained call, repeated once if the reply cannot be read.

    Raises `Unreadable` after the second, and the errors of the model's client.
    """
    return (await ask_json(chat, type_question(question))).value


def type_question(question: str) -> Question[QueryType]:
    messages = [Message("system", _TASK), Message("user", f"Question: {question}\n\n{_ASKED}")]
    return Question(messages, _SCHEMA, _read, max_tokens=16)


def known_type(name: str) -> QueryType | None:
    """The type that a data set's name for one means, such as `temporal_query`; None: none of these."""
    return next((one for one in QUERY_TYPES if name in {one, f"{one}_query"}), None)


_TASK = """\
You sort questions about news and documents by what they ask for.
inference: asks for a person, organisation, thing or number that one or several sources describe.
comparison: asks whether two sources or things agree or differ, or which of them is more.
temporal: asks what changed between two moments, what came first, or whether something was still so later."""
_ASKED = 'Reply with JSON: {"type": "inference"}, {"type": "comparison"} or {"type": "temporal"}.'
_SCHEMA = object_of({"type": {"type": "string", "enum": [*QUERY_TYPES]}})


def _read(reply: Mapping[str, Any]) -> QueryType:
    found = known_type(str(reply.get("type")).strip().lower())
    if found is None:
        raise ValueError("the reply names none of the types")
    return found
