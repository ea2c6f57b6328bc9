"""What is found in a text: entities, and statements as triplets."""

from dataclasses import dataclass

from harness.core.records import Triplet


@dataclass(frozen=True)
class FoundEntity:
    """An entity as a text names it."""

    name: str
    kind: str = ""
    """Such as Person or Organisation; empty where the extractor does not say."""


@dataclass(frozen=True)
class TextGraph:
    """What was found in one text; a failure says why nothing was, and is never silently an empty graph."""

    entities: tuple[FoundEntity, ...] = ()
    triplets: tuple[Triplet, ...] = ()
    failure: str = ""
    asked_again: bool = False
    """The model's first reply was no graph, and it was asked once more."""
