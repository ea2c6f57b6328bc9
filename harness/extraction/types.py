"""Extraction results: entities, and statements as triplets."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from harness.core.records import Triplet
from harness.extraction.entity_names import entity_id
from harness.extraction.nlp_phrases import chains_of, phrases_of
from harness.extraction.nlp_statements import neighbours_of, statements_of

if TYPE_CHECKING:
    from spacy.tokens import Doc

MAX_TRIPLETS = 40
"""Maximum per text: first statements, then neighbours, both in text order."""
MAX_CHAINS = 60
"""Maximum per text, in addition, if every phrase is extracted."""
MAX_ENTITIES = 200
"""Maximum per text, besides the heads and tails of its triplets."""


@dataclass(frozen=True)
class Focus:
    """What a model is asked to extract."""

    entity_types: tuple[str, ...] = ()
    """Kinds of entities; empty: all."""
    relation_types: tuple[str, ...] = ()
    """Names of relations; empty: all."""
    dates: bool = False
    """Whether each relation is asked for with its date."""


EVERYTHING = Focus()


@dataclass(frozen=True)
class FoundEntity:
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


class TextFinds(BaseModel):
    """The phrases of one text as plain text, so that no parsed document stays in memory and other machines can
    send them. Other texts decide which concepts become entities.
    """

    model_config = ConfigDict(extra="forbid")

    entities: list[FoundEntity] = []
    """Names from the recogniser, and heads and tails of statements. These lists may repeat themselves."""
    others: dict[str, FoundEntity] = {}
    """Concepts that become entities if other texts name them too, by entity id."""
    statements: list[Triplet] = []
    neighbours: list[Triplet] = []
    chains: list[Triplet] = []
    """Filled if every phrase is extracted."""
    failure: str = ""

    def add(self, doc: Doc, *, every_phrase: bool) -> None:
        phrases = phrases_of(doc)
        statements = statements_of(doc, phrases)
        ends = {end for said in statements for end in (said.head, said.tail)}
        for phrase in dict.fromkeys(phrases.values()):
            entity = FoundEntity(phrase.text, phrase.kind)
            if phrase.recognised or phrase.text in ends:
                self.entities.append(entity)
            elif phrase.sort in {"name", "concept"}:
                self.others.setdefault(entity_id(phrase.text), entity)
        self.statements += statements
        for sentence in doc.sents:
            self.neighbours += neighbours_of(sentence, phrases)
            self.chains += chains_of(sentence) if every_phrase else ()

    def graph(self, texts_naming: Counter[str]) -> TextGraph:
        """The graph without concepts that no other text names, and without neighbours and chains that already have
        a link.
        """
        if self.failure:
            return TextGraph(failure=self.failure)
        shared = (entity for met, entity in self.others.items() if texts_naming[met] > 1)
        linked = set(map(_ends, self.statements))
        beside = (each for each in self.neighbours if _ends(each) not in linked)
        triplets = tuple(islice((*dict.fromkeys(self.statements), *dict.fromkeys(beside)), MAX_TRIPLETS))
        linked = set(map(_ends, triplets))
        chains = islice((each for each in dict.fromkeys(self.chains) if _ends(each) not in linked), MAX_CHAINS)
        return TextGraph(
            entities=tuple(islice((*dict.fromkeys(self.entities), *shared), MAX_ENTITIES)),
            triplets=(*triplets, *chains),
        )


def _ends(triplet: Triplet) -> frozenset[str]:
    return frozenset({entity_id(triplet.head), entity_id(triplet.tail)})
