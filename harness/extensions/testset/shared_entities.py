"""Finds entities that two documents share, with a rule-based parser and no model."""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from random import Random

from harness.core.records import Document
from harness.extensions.testset.excerpts import passages_of
from harness.extraction.entity_names import entity_id
from harness.extraction.nlp import NlpExtractor
from harness.llm_utils.bounded_concurrency import Progress

MOST_DOCUMENTS = 400
"""Number of documents that are parsed for shared entities, sampled with the seed: minutes of one core, with far
more pairs than questions."""
_MOST_PASSAGES = 12
"""Per document."""
_COMMON = 0.25
"""Entities in a larger share of the documents link nothing in particular, unless few documents have them."""
_SHARED_BY_FEW = 5
_MOST_PAIRS = 20_000
_VALUES = frozenset({"Date", "Money"})


@dataclass
class _Named:
    name: str
    kind: str
    at: dict[int, int] = field(default_factory=dict)
    """Document -> its first passage with the name."""


@dataclass(frozen=True)
class Pair:
    """Two documents, by their positions in the corpus, and a name that both contain."""

    first: int
    second: int
    link: str
    passages: tuple[int, int]
    """The passage of each document that contains the name."""
    is_name: bool
    """Whether the name is of a known kind, not a concept such as `interest rate`."""


async def linked_pairs(documents: Sequence[Document], seed: int, progress: Progress) -> list[Pair]:
    """Pairs of documents that share a name, in an order drawn by `seed`; two documents that share several names
    form several pairs. MissingDependency: no parser is installed.
    """
    draw = Random(f"{seed}/links")  # noqa: S311 - a sample, no secret
    chosen = sorted(draw.sample(range(len(documents)), min(len(documents), MOST_DOCUMENTS)))
    passages = {place: passages_of(documents[place].text)[:_MOST_PASSAGES] for place in chosen}
    places = [(place, number) for place in chosen for number in range(len(passages[place]))]
    graphs = await NlpExtractor(pipeline=None, progress=progress).extract([passages[at][n] for at, n in places])
    named: dict[str, _Named] = {}
    for (place, number), graph in zip(places, graphs, strict=True):
        for entity in graph.entities:
            if entity.kind not in _VALUES and (found := entity_id(entity.name)):
                one = named.setdefault(found, _Named(entity.name, entity.kind))
                one.kind = one.kind or entity.kind
                one.at.setdefault(place, number)
    await asyncio.to_thread(_look_closer, named.values(), passages)
    most = max(_SHARED_BY_FEW, int(_COMMON * len(chosen)))
    pairs = [pair for one in named.values() if 2 <= len(one.at) <= most for pair in _pairs(one, draw)]
    draw.shuffle(pairs)
    return pairs[:_MOST_PAIRS]


def _look_closer(named: Iterable[_Named], passages: Mapping[int, Sequence[str]]) -> None:
    """Find names that the parser tagged differently, letter by letter, in every document."""
    texts = {place: "\n".join(parts) for place, parts in passages.items()}
    for one in named:
        if not any(map(str.isupper, one.name)):
            continue
        whole = re.compile(rf"(?<!\w){re.escape(one.name)}(?!\w)")
        for place, text in texts.items():
            if place not in one.at and one.name in text and whole.search(text):
                one.at[place] = next((at for at, part in enumerate(passages[place]) if one.name in part), 0)


def _pairs(one: _Named, draw: Random) -> list[Pair]:
    """All pairs if the documents are few; else each with the next one in a drawn order."""
    around = list(one.at)
    draw.shuffle(around)
    if len(around) <= _SHARED_BY_FEW:
        beside = list(combinations(around, 2))
    else:
        beside = [*pairwise(around), (around[-1], around[0])]
    is_name = bool(one.kind) and (one.kind != "Concept" or any(map(str.isupper, one.name)))
    ordered = [(min(two), max(two)) for two in beside]
    return [Pair(first, second, one.name, (one.at[first], one.at[second]), is_name) for first, second in ordered]
