"""Ranks the graph's triplets for a question."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from systems.common.graph_stores.contract import StoredTriplet

_WORD = re.compile(r"\w+")


def rank_triplets(
    question: str, found: Mapping[str, int], triplets: Sequence[StoredTriplet]
) -> list[StoredTriplet]:
    """`triplets`, best first; `found` maps the id of each entity of the question to its rank, 0 the best.

    First those between two entities of the question. Then the best one of each entity, in their ranks' order, the
    second best of each, and so on, so that an entity with hundreds of relations leaves room for the others.
    An entity's triplets are ordered by the number of other words of the question, then by the number of
    chunks that state them, then by their ids. No model; independent of the store.
    """
    asked = _words(question)

    def merit(triplet: StoredTriplet) -> tuple[int, int, str, str, str]:
        words = _words(triplet.relation.replace("_", " "))
        for end in (triplet.head_id, triplet.tail_id):
            words |= set() if end in found else _words(end)
        return (-len(words & asked), -len(triplet.chunk_ids), triplet.head_id, triplet.relation, triplet.tail_id)

    met: Counter[int] = Counter()
    places: dict[StoredTriplet, tuple[int, int, int]] = {}
    for triplet in sorted(triplets, key=merit):
        ends = [found[end] for end in (triplet.head_id, triplet.tail_id) if end in found]
        rank = min(ends, default=len(found))
        places[triplet] = (0, 0, rank) if len(ends) == 2 else (1, met[rank], rank)
        met[rank] += len(ends) < 2
    # sorted() is stable, so ties keep their order.
    return sorted(places, key=places.__getitem__)


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.casefold()) if len(word) > 2}
