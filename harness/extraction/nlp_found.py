"""The phrases of one text, before other texts decide which concepts become entities."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Self

from pydantic import BaseModel, ConfigDict

from harness.core.records import Triplet
from harness.extraction.entity_names import entity_id
from harness.extraction.nlp_phrases import chains_of, phrases_of
from harness.extraction.nlp_statements import neighbours_of, statements_of
from harness.extraction.types import FoundEntity, TextGraph

if TYPE_CHECKING:
    from spacy.tokens import Doc

MAX_TRIPLETS = 40
"""Maximum per text: first statements, then neighbours, both in text order."""
MAX_CHAINS = 60
"""Maximum per text, in addition, if every phrase is extracted."""
MAX_ENTITIES = 200
"""Maximum per text, besides the heads and tails of its triplets."""


@dataclass
class TextFinds:
    """The phrases of one text as plain text, so that no parsed document stays in memory."""

    entities: dict[FoundEntity, None] = field(default_factory=dict)
    """Names from the recogniser, and heads and tails of statements."""
    others: dict[str, FoundEntity] = field(default_factory=dict)
    """Concepts that become entities if other texts name them too, by entity id."""
    statements: dict[Triplet, None] = field(default_factory=dict)
    neighbours: dict[Triplet, None] = field(default_factory=dict)
    every_phrase: bool = False
    chains: dict[Triplet, None] = field(default_factory=dict)
    """Filled if every phrase is extracted."""
    failure: str = ""

    def add(self, doc: Doc) -> None:
        """Add the phrases of a part of the text."""
        phrases = phrases_of(doc)
        statements = statements_of(doc, phrases)
        ends = {end for said in statements for end in (said.head, said.tail)}
        for phrase in dict.fromkeys(phrases.values()):
            entity = FoundEntity(phrase.text, phrase.kind)
            if phrase.recognised or phrase.text in ends:
                self.entities[entity] = None
            elif phrase.sort in {"name", "concept"}:
                self.others.setdefault(entity_id(phrase.text), entity)
        self.statements |= dict.fromkeys(statements)
        for sentence in doc.sents:
            self.neighbours |= dict.fromkeys(neighbours_of(sentence, phrases))
            if self.every_phrase:
                self.chains |= dict.fromkeys(chains_of(sentence))

    def graph(self, texts_naming: Counter[str]) -> TextGraph:
        """The graph without concepts that no other text names, and without neighbours and chains that already have
        a link.
        """
        if self.failure:
            return TextGraph(failure=self.failure)
        shared = (entity for met, entity in self.others.items() if texts_naming[met] > 1)
        linked = {_ends(said) for said in self.statements}
        beside = (each for each in self.neighbours if _ends(each) not in linked)
        triplets = tuple(islice((*self.statements, *beside), MAX_TRIPLETS))
        linked = {_ends(each) for each in triplets}
        chains = islice((each for each in self.chains if _ends(each) not in linked), MAX_CHAINS)
        return TextGraph(
            entities=tuple(islice((*self.entities, *shared), MAX_ENTITIES)), triplets=(*triplets, *chains)
        )


def _ends(triplet: Triplet) -> frozenset[str]:
    return frozenset({entity_id(triplet.head), entity_id(triplet.tail)})


class FoundLine(BaseModel):
    """`TextFinds` as sent between processes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    entities: tuple[FoundEntity, ...]
    others: tuple[FoundEntity, ...]
    statements: tuple[Triplet, ...]
    neighbours: tuple[Triplet, ...]
    chains: tuple[Triplet, ...]
    failure: str

    @classmethod
    def of(cls, found: TextFinds) -> Self:
        """From the phrases of one text."""
        return cls(
            entities=tuple(found.entities),
            others=tuple(found.others.values()),
            statements=tuple(found.statements),
            neighbours=tuple(found.neighbours),
            chains=tuple(found.chains),
            failure=found.failure,
        )

    def found(self) -> TextFinds:
        """The phrases it was created from."""
        return TextFinds(
            entities=dict.fromkeys(self.entities),
            others={entity_id(entity.name): entity for entity in self.others},
            statements=dict.fromkeys(self.statements),
            neighbours=dict.fromkeys(self.neighbours),
            chains=dict.fromkeys(self.chains),
            failure=self.failure,
        )
