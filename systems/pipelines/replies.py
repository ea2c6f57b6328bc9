"""Validates a pipeline's reply; errors name the wrong field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from harness.core.records import Context, Usage

LONGEST_ANSWER = 100_000
_MOST_CONTEXTS, _LONGEST_CONTEXTS = 10_000, 20_000_000
_MOST_COUNTED = 10**12
_USAGE = {
    "calls": ("calls", "model_calls"),
    "input_tokens": ("input_tokens", "prompt_tokens"),
    "output_tokens": ("output_tokens", "completion_tokens"),
    "cached_tokens": ("cached_tokens",),
}


class WrongShape(ValueError):
    """A reply that does not fit the contract."""


@dataclass(frozen=True)
class PipelineReply:
    answer: str | None
    contexts: tuple[Context, ...] = ()
    usage: Usage | None = None
    """None: it does not say."""
    has_contexts: bool = True
    """False: it does not say what was retrieved."""


def read_reply(value: Any) -> PipelineReply:
    """A text, or a mapping with `answer` and optionally `contexts` and `usage`. Otherwise raises WrongShape."""
    if isinstance(value, str):
        return PipelineReply(read_answer(value), has_contexts=False)
    if not isinstance(value, Mapping):
        raise WrongShape(f"the reply must be a text or an object with 'answer', not {kind(value)}")
    if "answer" not in value:
        found = ", ".join(str(key)[:30] for key in list(value)[:8]) or "nothing"
        raise WrongShape(f"the reply has no 'answer'; it has: {found}")
    return PipelineReply(
        answer=read_answer(value["answer"]),
        contexts=read_contexts(value.get("contexts")),
        usage=read_usage(value.get("usage")),
        has_contexts=value.get("contexts") is not None,
    )


def read_answer(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise WrongShape(f"'answer' must be a text or null, not {kind(value)}")
    if len(value) > LONGEST_ANSWER:
        raise WrongShape(f"'answer' has {len(value):,} characters; at most {LONGEST_ANSWER:,} are kept")
    return value.strip()


def read_contexts(value: Any) -> tuple[Context, ...]:
    """A list of texts or of objects with `text`, best first."""
    if value is None:
        return ()
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
        raise WrongShape(f"'contexts' must be a list, not {kind(value)}")
    if len(value) > _MOST_CONTEXTS:
        raise WrongShape(f"'contexts' has {len(value):,} entries; at most {_MOST_CONTEXTS:,} are kept")
    contexts = tuple(_context(entry, f"contexts.{place}") for place, entry in enumerate(value))
    if (length := sum(len(context.text) for context in contexts)) > _LONGEST_CONTEXTS:
        raise WrongShape(f"'contexts' has {length:,} characters; at most {_LONGEST_CONTEXTS:,} are kept")
    return contexts


def read_usage(value: Any) -> Usage | None:
    """Counts under our names or those of OpenAI's protocol; missing ones are 0 here, and are not used as such."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise WrongShape(f"'usage' must be an object, not {kind(value)}")
    counts = {ours: _count(value, ours, names) for ours, names in _USAGE.items()}
    if counts["cached_tokens"] > counts["input_tokens"]:
        raise WrongShape("'usage.cached_tokens' is more than 'usage.input_tokens'")
    return Usage(**counts)


def kind(value: Any) -> str:
    named = {bool: "true or false", int: "a number", float: "a number", str: "a text", type(None): "null"}
    if type(value) in named:
        return named[type(value)]
    if isinstance(value, Mapping):
        return "an object"
    return "a list" if isinstance(value, list | tuple) else f"a {type(value).__name__}"


def context_of(text: Any, doc_ids: Any, score: Any, where: str) -> Context:
    if not isinstance(text, str):
        raise WrongShape(f"'{where}.text' must be a text, not {kind(text)}")
    several = list(doc_ids) if isinstance(doc_ids, list | tuple) else [] if doc_ids is None else [doc_ids]
    for place, one in enumerate(several):
        if isinstance(one, bool) or not isinstance(one, str | int):
            raise WrongShape(f"'{where}.doc_id' must be a text, not {kind(one)}")
        several[place] = str(one)
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise WrongShape(f"'{where}.score' must be a number, not {kind(score)}")
    if score is not None and not isfinite(score):
        raise WrongShape(f"'{where}.score' is {score}, which is no number")
    return Context(text=text, doc_ids=tuple(several), score=None if score is None else float(score))


def _context(value: Any, where: str) -> Context:
    if isinstance(value, str):
        return Context(text=value, doc_ids=())
    if not isinstance(value, Mapping):
        raise WrongShape(f"'{where}' must be a text or an object with 'text', not {kind(value)}")
    return context_of(value.get("text"), value.get("doc_ids", value.get("doc_id")), value.get("score"), where)


def _count(given: Mapping[str, Any], ours: str, names: Sequence[str]) -> int:
    value = next((given[name] for name in names if given.get(name) is not None), 0)
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(whole, bool) or not isinstance(whole, int) or not 0 <= whole <= _MOST_COUNTED:
        raise WrongShape(f"'usage.{ours}' must be a count, not {str(value)[:40] if value else kind(value)}")
    return whole
