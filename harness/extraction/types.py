"""Extraction results: entities, and statements as triplets."""

from dataclasses import dataclass

from harness.core.records import Triplet


@dataclass(frozen=True)
class FoundEntity:
    """An entity as a text names it."""

    name: str
    kind: str = ""
    """Such as Person or Organisation; empty if unknown."""


@dataclass(frozen=True)
class TextGraph:
    """The graph of one text. If the extraction failed, `failure` has the reason: it is never silently empty."""

    entities: tuple[FoundEntity, ...] = ()
    triplets: tuple[Triplet, ...] = ()
    failure: str = ""
    dates: tuple[tuple[Triplet, str], ...] = ()
    """Triplets with the date that the text states for them, if dates were asked for."""
    asked_again: bool = False
    """The model's first reply was invalid, and a second call was made."""
