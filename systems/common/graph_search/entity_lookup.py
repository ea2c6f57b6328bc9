"""Finds the entities of the graph that a question names."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from harness.extraction.entity_names import entity_id
from systems.common.graph_search.question_entities import OPENERS, names_in
from systems.common.graph_stores.contract import EntityHit, GraphStore
from systems.common.graph_stores.entity_name_search import words

_LONGEST = 8
"""Maximum words of a name."""
_MOST_WORDS = 300
"""Maximum words of a question that are searched for names."""
_ALIASES = 50
"""Number of full-text results checked for another spelling of a name."""
# A comma or a quotation mark separates names.
_PART = re.compile(r"[^,;:?!()\"\u201c\u201d]+")


@dataclass(frozen=True)
class _Run:
    """Neighbouring words of the question."""

    start: int
    end: int
    text: str
    entity_id: str

    @property
    def may_be_a_name(self) -> bool:
        """Several words, or one with a capital or a digit that is not just the first word of the question."""
        if self.end - self.start > 1:
            return True
        is_marked = any(character.isupper() or character.isdigit() for character in self.text)
        return is_marked and (self.text.casefold() not in OPENERS or self.text.isupper())


async def entities_named(
    store: GraphStore, question: str, publishers: Collection[str], aliases: int
) -> list[EntityHit]:
    """The entities of the graph that the question names, in its order, without `publishers` (entity ids).

    First, word sequences that equal the name of an entity, longest first, ignoring possessives and articles. Then,
    for remaining names in quotation marks and capitals, entities that contain all words of the name, or the
    reverse, at most `aliases` for each.
    """
    runs = [run for run in _runs(question) if run.may_be_a_name]
    stored = {hit.entity_id: hit for hit in await store.entities([run.entity_id for run in runs])}
    chosen = _longest([run for run in runs if run.entity_id in stored or run.entity_id in publishers])
    hits = {run.entity_id: stored[run.entity_id] for run in chosen if run.entity_id not in publishers}
    met = {word for run in chosen for word in words(run.text)}
    for name in names_in(question):
        asked = set(words(name))
        if not asked <= met:
            found = await store.find_entities(name, _ALIASES)
            same = [hit for hit in found if _is_alias(asked, hit.name) and hit.entity_id not in publishers]
            hits = {**{hit.entity_id: hit for hit in same[:aliases]}, **hits}
    return sorted(hits.values(), key=lambda hit: _place(question, hit.name))


def _runs(question: str) -> Iterator[_Run]:
    start = 0
    for part in _PART.findall(question):
        parts = part.split()[: _MOST_WORDS - start]
        for first in range(len(parts)):
            for last in range(first + 1, min(first + _LONGEST, len(parts)) + 1):
                text = " ".join(parts[first:last])
                if met := entity_id(text):
                    yield _Run(start + first, start + last, text, met)
        start += len(parts)


def _longest(runs: Sequence[_Run]) -> list[_Run]:
    """Sequences without common words, longest first; returned in the question's order."""
    kept: list[_Run] = []
    for run in sorted(runs, key=lambda each: (each.start - each.end, each.start)):
        if all(run.end <= other.start or other.end <= run.start for other in kept):
            kept.append(run)
    return sorted(kept, key=lambda each: each.start)


def _is_alias(asked: set[str], name: str) -> bool:
    """Whether one is an alias of the other: `Apple Inc.` of `Apple`, `Altman` of `Sam Altman`; not `MTV News` of
    `Sporting News`.
    """
    has = set(words(name))
    return bool(has) and (has <= asked or asked <= has)


def _place(question: str, name: str) -> int:
    """Where the question names the entity; at the end if it is spelled differently."""
    found = question.casefold().find(name.casefold())
    return found if found >= 0 else len(question)
