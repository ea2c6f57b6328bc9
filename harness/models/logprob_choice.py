"""Probabilities of single-letter replies, from the log probabilities of the first token."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from harness.core.errors import NoLogprobs
from harness.models.parameter_adapter import REFUSING, refused_parameter

MOST_LOGPROBS = 20
"""Maximum in OpenAI's protocol."""
LOWEST_MASS = 0.5
"""Probability that the letters must have together; below it the reply probably begins with something else."""


def letter_request(request: Mapping[str, Any]) -> dict[str, Any]:
    """The request limited to one token, with log probabilities."""
    return {**request, "max_tokens": 1, "logprobs": True, "top_logprobs": MOST_LOGPROBS}


def are_refused(status: int, body: bytes) -> bool:
    """Whether the error says that the server does not support log probabilities, so no query can get them."""
    return status in REFUSING and refused_parameter(body, ("logprobs", "top_logprobs")) is not None


def no_letters(whose: str, *, refused: bool = False) -> NoLogprobs:
    """The message for a model whose letters cannot be read."""
    return NoLogprobs(
        f"{whose} gives no log probabilities",
        "choose a server that does (llama.cpp, vLLM, OpenAI), or a method that needs none",
        refused=refused,
    )


def letter_shares(reply: Any, letters: Sequence[str], whose: str) -> dict[str, float]:
    """See `harness.protocols.LogprobModel.choose`; `whose`: name of the model, for a message."""
    try:
        likely = reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        told = [(each["token"].strip(), min(float(each["logprob"]), 0.0)) for each in likely]
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise no_letters(whose) from error
    weights = {letter: sum(math.exp(logprob) for token, logprob in told if token == letter) for letter in letters}
    total = sum(weights.values())
    if not LOWEST_MASS <= total < math.inf:
        raise ValueError(f"none of {', '.join(letters)} is a likely reply: together they have {total:.2g}")
    return {letter: weight / total for letter, weight in weights.items()}
