"""What follows from a sentence, by one letter of a language model's reply."""

import asyncio
from collections.abc import Sequence

from harness.protocols import LogprobModel, Message

_FOLLOWS, *_ = _LETTERS = ("A", "B", "C")


class LogprobEntailment:
    """See `harness.protocols.Entailment`: the share of the letter for entailment, one call per premise."""

    def __init__(self, chat: LogprobModel) -> None:
        self._chat = chat

    async def shares(self, premises: Sequence[str], hypothesis: str) -> list[float]:
        """Raises as `LogprobModel.choose`."""
        asked = [self._chat.choose(entailment_messages(premise, hypothesis), _LETTERS) for premise in premises]
        return [said[_FOLLOWS] for said in await asyncio.gather(*asked)]


def entailment_messages(premise: str, hypothesis: str) -> list[Message]:
    """The prompt with a one-letter reply: A for entailment, B for neutral, C for contradiction."""
    # "Answer with A, B or C" makes a small model begin a sentence: the letters had .24 of the mass, now .99.
    task = (
        f"Premise: {premise}\nHypothesis: {hypothesis}\nDoes the premise entail the hypothesis?\n"
        "A. entailment\nB. neutral\nC. contradiction\nReply with one letter, A, B or C, and nothing else."
    )
    return [Message("user", task)]
