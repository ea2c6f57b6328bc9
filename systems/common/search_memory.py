"""What was found and done for one question so far, in several searches."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.core.records import Context, Places, Span, Step
from systems.common.answers import Found

LONGEST_OBSERVATION = 12_000
"""Characters."""


@dataclass
class SearchMemory:
    """The contexts of all searches, the trace for the record, and the scratchpad for the next prompt."""

    by_place: bool = False
    """Whether contexts are distinct by their place in a document, not by their text."""
    contexts: dict[str | Span | None, Context] = field(default_factory=dict)
    """In the order of retrieval."""
    trace: list[Step] = field(default_factory=list)
    scratchpad: list[str] = field(default_factory=list)
    ranking: Places | None = None

    @property
    def found(self) -> Found:
        return Found(tuple(self.contexts.values()), self.ranking, tuple(self.trace))

    def note(self, name: str, content: str) -> None:
        self.trace.append(Step(name=name, content=content))

    def observe(self, turn: str, observation: str) -> None:
        """Show the agent its own turn, and the result, in the next prompt."""
        self.scratchpad += [turn, f"Observation: {observation}"]

    def add(self, found: Sequence[Context]) -> list[Context]:
        """Keep what is new among `found`, and return it. Its scores are not comparable with those of an earlier
        search, so only the first search keeps them.
        """
        new = [one for one in found if self._key(one) not in self.contexts]
        if any(one.score is not None for one in self.contexts.values()):
            new = [one.model_copy(update={"score": None}) for one in new]
        self.contexts |= {self._key(one): one for one in new}
        return new

    def _key(self, context: Context) -> str | Span | None:
        return context.span if self.by_place else context.text


def observation_of(found: Sequence[Context], nothing: str) -> str:
    """The contexts as the agent sees them, with their documents; `nothing` if there are none."""
    lines = (f"({', '.join(one.doc_ids)}) {one.text}" for one in found)
    return "\n".join(lines)[:LONGEST_OBSERVATION] or nothing
