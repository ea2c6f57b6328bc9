"""The order in which queries are asked. Whatever part is answered is a stratified sample of all."""

from collections.abc import Iterable
from random import Random

from harness.core.records import Reference


def query_order(references: Iterable[Reference], seed: int) -> list[str]:
    """All query ids in a random order, stratified by query type. It depends on the seed, the ids and their types
    only.

    The j-th of n queries of a type gets the position (j + u) / n, with u uniform in [0, 1). So in the first k
    queries each type has its share of the sample, give or take one query.
    """
    by_type: dict[str, list[str]] = {}
    for reference in references:
        by_type.setdefault(reference.query_type, []).append(reference.query_id)
    places: list[tuple[float, str]] = []
    for query_type, ids in by_type.items():
        # One generator for each type, so that an added type does not change the order within the others.
        draw = Random(f"{seed}/{query_type}")  # noqa: S311 - an order, not a secret
        ids.sort()
        draw.shuffle(ids)
        places += [((place + draw.random()) / len(ids), query_id) for place, query_id in enumerate(ids)]
    return [query_id for _, query_id in sorted(places)]
