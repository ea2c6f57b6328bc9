"""What two documents both speak of: entities by rules on a parse, no model."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from harness.asking.bounded import Progress
from harness.extraction.names import entity_id
from harness.extraction.nlp import NlpExtractor
from harness.questions.passages import passages_of
from harness.records import Document

MOST_DOCUMENTS = 400
"""That are parsed for what they share, drawn by the seed: minutes of one core, far more pairs than questions."""
_MOST_PASSAGES = 12
"""Of a document."""
_COMMON = 0.25
"""What a larger share of the documents names links nothing in particular; two of them may always."""
_MOST_PAIRS = 20_000
_VALUES = frozenset({"Date", "Money"})


@dataclass
class _Named:
    name: str
    kind: str
    at: dict[int, int] = field(default_factory=dict)
    """Document -> the first of its passages that names it."""


@dataclass(frozen=True)
class Pair:
    """Two documents, by their places in the corpus, and what both name."""

    first: int
    second: int
    link: str
    passages: tuple[int, int]
    """The passage of each that names it."""
    is_name: bool
    """A proper name of a known kind, not a concept."""


async def linked_pairs(documents: Sequence[Document], seed: int, progress: Progress) -> list[Pair]:
    """Pairs of documents with something that both name, in an order drawn by `seed`; several for two that share
    several things. MissingDependency: no parser is installed.
    """
    draw = Random(f"{seed}/links")  # noqa: S311 - a sample, no secret
    chosen = sorted(draw.sample(range(len(documents)), min(len(documents), MOST_DOCUMENTS)))
    places, texts = [], []
    for place in chosen:
        for number, passage in enumerate(passages_of(documents[place].text)[:_MOST_PASSAGES]):
            places.append((place, number))
            texts.append(passage)
    graphs = await NlpExtractor(pipeline=None, progress=progress).extract(texts)
    named: dict[str, _Named] = {}
    for (place, number), graph in zip(places, graphs, strict=True):
        for entity in graph.entities:
            if entity.kind not in _VALUES and (found := entity_id(entity.name)):
                one = named.setdefault(found, _Named(entity.name, entity.kind))
                one.kind = one.kind or entity.kind
                one.at.setdefault(place, number)
    most = max(2, int(_COMMON * len(chosen)))
    pairs = [pair for one in named.values() if 2 <= len(one.at) <= most for pair in _pairs(one, draw)]
    draw.shuffle(pairs)
    return pairs[:_MOST_PAIRS]


def _pairs(one: _Named, draw: Random) -> list[Pair]:
    """Each document with the next one, in a drawn order: all pairs of what many name would be too many."""
    is_name = bool(one.kind) and one.kind != "Concept"
    around = list(one.at)
    draw.shuffle(around)
    beside = zip(around, around[1:] if len(around) == 2 else [*around[1:], around[0]], strict=False)
    ordered = [(min(two), max(two)) for two in beside]
    return [Pair(first, second, one.name, (one.at[first], one.at[second]), is_name) for first, second in ordered]
