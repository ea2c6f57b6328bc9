"""The contexts that a search gives to the generator."""

from collections.abc import Iterable
from dataclasses import dataclass

from harness.core.records import Context, Step
from systems.common.token_estimate import count_tokens


@dataclass(frozen=True)
class FoundUnits:
    """Contexts in rank order, with the trace of the search."""

    contexts: tuple[Context, ...]
    trace: tuple[Step, ...]
    shown: str = ""
    """The contexts as one text, as the library words them; empty without the library."""


def within(contexts: Iterable[Context], tokens: int) -> list[Context]:
    kept: list[Context] = []
    for context in contexts:
        tokens -= count_tokens(context.text)
        if tokens < 0:
            break
        kept.append(context)
    return kept
