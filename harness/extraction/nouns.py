"""What is found in a text: entities, and statements as triplets."""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class FoundEntity:
    """An entity as a text names it."""

    name: str
    kind: str = ""
    """Such as Person or Organisation; empty where the extractor does not say."""


class Triplet(NamedTuple):
    """A statement of a text: (head)-[relation]->(tail), in the text's or the model's words."""

    head: str
    relation: str
    tail: str


@dataclass(frozen=True)
class TextGraph:
    """What was found in one text; a failure says why nothing was, and is never silently an empty graph."""

    entities: tuple[FoundEntity, ...] = ()
    triplets: tuple[Triplet, ...] = ()
    failure: str = ""
    asked_again: bool = False
    """The model's first reply was no graph, and it was asked once more."""
