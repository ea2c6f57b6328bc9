"""The estimated cost of writing questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.core.records import Usage
from harness.extensions.testset.generator import Order
from harness.extensions.testset.judge_sanity_checks import SEARCHED, SWAPPED
from harness.extensions.testset.model_checks import ANSWER_TOKENS
from harness.extensions.testset.prompts import VERDICT_TOKENS, WRITER_TOKENS, draft_question
from harness.extensions.testset.retrieval_check import FOUND, PASSAGE
from harness.extensions.testset.types import QuestionSlot
from harness.statistics.estimates.rates import CHARACTERS_PER_TOKEN
from harness.statistics.prices import Prices, usage_usd

_PROMPT = 1_200
"""Characters of a short prompt: the answer instructions, a question, some quotes."""


@dataclass(frozen=True)
class WritingEstimate:
    """Calls and tokens by role."""

    usage: Mapping[str, Usage]
    usd: float | None
    """None: a model has no known price."""
    tries: float
    """At most this many times the estimate, if candidates fail."""

    @property
    def line(self) -> str:
        total = sum(self.usage.values(), Usage())
        money = "" if self.usd is None else f", ${self.usd:.4f}"
        return (
            f"about {total.calls:,} model calls, {total.input_tokens:,} tokens in and up to "
            f"{total.output_tokens:,} out{money}, if every candidate passes; "
            f"up to {self.tries:.1f} times that where they fail"
        )


def estimate(
    orders: Sequence[Order], prices: Prices, models: Mapping[str, Any], embedded_characters: int
) -> WritingEstimate:
    """The cost of one candidate per wanted question and of the judge's sanity checks, computed from the prompts;
    nothing is measured. `embedded_characters`: of passages sent to an embedder that bills tokens.
    """
    sites = [site for order in orders for site in order.sites[: order.wanted]]
    usage = {
        "generator": sum((_drafting(site) for site in sites), Usage()),
        "judge": sum((_judging(site) for site in sites), _controls(sites)),
    }
    if embedded_characters:
        usage["embedder"] = _calls(1, embedded_characters, 0)
    tries = sum(len(order.sites) for order in orders) / max(1, len(sites))
    return WritingEstimate(usage, usage_usd(prices, models, usage), tries)


def _controls(sites: Sequence[QuestionSlot]) -> Usage:
    answerable = sum(site.kind != "unanswerable" for site in sites)
    swapped = _calls(min(SWAPPED, answerable), _PROMPT, VERDICT_TOKENS)
    if answerable == len(sites):
        return swapped
    single = min(SEARCHED, sum(site.kind == "single_fact" for site in sites))
    return swapped + _searched(single)


def _drafting(site: QuestionSlot) -> Usage:
    characters = sum(len(message.content) for message in draft_question(site).messages)
    return _calls(1, characters, WRITER_TOKENS)


def _judging(site: QuestionSlot) -> Usage:
    if site.kind == "unanswerable":
        return _searched(1)
    answers = _calls(4 if site.kind == "bridge" else 2, _PROMPT, ANSWER_TOKENS)
    return answers + _calls(1, _PROMPT, VERDICT_TOKENS)


def _searched(number: int) -> Usage:
    """Cost of answering from retrieved passages, and of checking that they state the answer."""
    read = _PROMPT + FOUND * PASSAGE
    return _calls(number, read, ANSWER_TOKENS) + _calls(number, read, VERDICT_TOKENS)


def _calls(number: int, characters: int, output_tokens: int) -> Usage:
    read = round(number * characters / CHARACTERS_PER_TOKEN)
    return Usage(calls=number, input_tokens=read, output_tokens=number * output_tokens)
