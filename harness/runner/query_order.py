"""In which order the queries of a sample are taken, so that whatever was answered in time is a sample of it."""

from collections.abc import Iterable
from random import Random

from harness.core.records import Reference


def query_order(references: Iterable[Reference], seed: int) -> list[str]:
    """The query id of each once, in a random order that depends on the seed, the ids and their types alone.

    Stratified: of the j-th query of a type that has n, the place is (j + a number between 0 and 1) / n of the way.
    So any beginning of it has of each type what its length and the type's share of the sample ask for, give or
    take a query, and a type is nowhere alone for long.
    """
    by_type: dict[str, list[str]] = {}
    for reference in references:
        by_type.setdefault(reference.query_type, []).append(reference.query_id)
    places: list[tuple[float, str]] = []
    for query_type, ids in by_type.items():
        # Its own generator: a type more or less leaves the order within the others alone.
        draw = Random(f"{seed}/{query_type}")  # noqa: S311 - an order, not a secret
        ids.sort()
        draw.shuffle(ids)
        places += [((place + draw.random()) / len(ids), query_id) for place, query_id in enumerate(ids)]
    return [query_id for _, query_id in sorted(places)]
