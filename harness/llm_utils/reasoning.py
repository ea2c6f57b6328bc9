"""Separates the reasoning of a model from its answer, in replies that contain both.

Reasoning models mark their reasoning with tags, which servers without a parser for them leave in the text. Chat
templates often add the opening tag to the prompt, so that only the closing one is in the reply.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from harness.core.records import REASONING, Prediction, Step

_TAGS = (
    # DeepSeek-R1, Qwen3, QwQ, Phi-4-reasoning, GLM, MiniMax and others; Reflection; Seed-OSS; Kimi; Magistral.
    *(
        rf"<(?:\w+:)?{name}(?:\s[^<>]*)?>|</(?:\w+:)?{name}\s*>"
        for name in ("think", "thinking", "thought", "thoughts")
    ),
    *(
        rf"<(?:\w+:)?{name}(?:\s[^<>]*)?>|</(?:\w+:)?{name}\s*>"
        for name in ("reasoning", "reflection", "scratchpad")
    ),
    r"◁/?think▷",
    r"\[/?THINK\]",
    # OpenThinker; MedGemma; Granite.
    r"<\|(?:begin|end)_of_thought\|>",
    r"<unused9[45]>",
)
_TAG = re.compile("|".join(f"(?:{tag})" for tag in _TAGS), re.IGNORECASE)
_CLOSING = re.compile(r"^(?:</|◁/|\[/|<\|end_|<unused95>)", re.IGNORECASE)
_SOLUTION = re.compile(r"<\|(?:begin|end)_of_solution\|>", re.IGNORECASE)
_HARMONY = re.compile(
    r"(?:<\|start\|>\s*\w*\s*)?<\|channel\|>\s*(\w+)[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>", re.IGNORECASE
)
_HARMONY_END = re.compile(r"<\|(?:end|return|call|start)\|>", re.IGNORECASE)
_GRANITE = re.compile(
    r"^\s*Here(?:'s| is) my thought process:(.*?)Here(?:'s| is) my response:", re.IGNORECASE | re.DOTALL
)
_END_OF_TURN = re.compile(
    r"(?:\s*(?:<\|(?:im_end|eot_id|end_of_text|endoftext|end|return|eom_id)\|>|</s>|<end_of_turn>))+\s*$",
    re.IGNORECASE,
)


class Separated(NamedTuple):
    """A reply in two parts; either may be empty."""

    reasoning: str
    answer: str
    is_complete: bool = True
    """False: the reply ends within the reasoning."""


def separate_reasoning(text: str) -> Separated:
    """The reasoning in a reply, and the rest, without tokens that end a turn. A text without marks is returned
    unchanged as the answer.

    An opening tag without a closing one: all after it is reasoning, because the reply was cut off. A closing tag
    without an opening one: all before it is reasoning.
    """
    if _HARMONY.search(text):
        return _harmony(text)
    if found := _GRANITE.search(text):
        return Separated(found[1].strip(), _ended(text[found.end() :]))
    tags = list(_TAG.finditer(text))
    if not tags:
        shown = _END_OF_TURN.sub("", text)
        return Separated("", shown if shown == text else shown.strip())
    reasoning: list[str] = []
    answer: list[str] = []
    depth, last = 0, 0
    if _is_closing(tags[0]):
        depth = 1
    for tag in tags:
        (reasoning if depth else answer).append(text[last : tag.start()])
        depth = max(0, depth - 1) if _is_closing(tag) else depth + 1
        last = tag.end()
    (reasoning if depth else answer).append(text[last:])
    shown = _SOLUTION.sub("", "".join(answer))
    return Separated("\n".join(part.strip() for part in reasoning if part.strip()), _ended(shown), not depth)


def with_reasoning_apart(prediction: Prediction, reasoning: Sequence[str] = ()) -> Prediction:
    """The prediction with the reasoning in its answer moved to its trace, after `reasoning` of its models. Raises
    ValueError if nothing is left of the answer.
    """
    found = separate_reasoning(prediction.answer or "")
    if found.reasoning and not found.answer.strip():
        raise ValueError("the answer is reasoning only: it was cut off, so raise max_tokens of its model")
    parts = (*reasoning, found.reasoning)
    steps = tuple(Step(name=REASONING, content=part) for part in parts if part)
    if not steps and found.answer == (prediction.answer or ""):
        return prediction
    answer = None if prediction.answer is None else found.answer
    return prediction.model_copy(update={"answer": answer, "trace": (*prediction.trace, *steps)})


def _is_closing(tag: re.Match[str]) -> bool:
    return _CLOSING.match(tag[0]) is not None


def _harmony(text: str) -> Separated:
    """The channels of OpenAI's Harmony format: `final` is the answer, others are reasoning."""
    reasoning: list[str] = []
    answer: list[str] = []
    heads = list(_HARMONY.finditer(text))
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        part = text[head.end() : following.start() if following else len(text)]
        part = _HARMONY_END.split(part)[0].strip()
        (answer if head[1].lower() == "final" else reasoning).append(part)
    return Separated("\n".join(filter(None, reasoning)), "\n".join(filter(None, answer)), bool(answer))


def _ended(text: str) -> str:
    return _END_OF_TURN.sub("", text).strip()
