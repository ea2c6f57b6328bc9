"""Parses triplets from a model's JSON reply."""

from collections.abc import Callable, Mapping
from typing import Any

from harness.core.records import Triplet

_PARTS = len(Triplet._fields)


def read_triplets(
    reply: Mapping[str, Any], most: int, accept: Callable[[Triplet], Triplet | None]
) -> tuple[Triplet, ...]:
    """The first `most` distinct triplets of the list under "triplets": objects with head, relation and tail, or
    lists.

    Others, and those with an empty part, are dropped: a server that does not enforce the schema may send them.
    `accept` shortens or rejects a triplet. ValueError if there is no list, or no valid triplet in a non-empty one.
    """
    listed = reply.get("triplets")
    if not isinstance(listed, list):
        raise ValueError("no list of triplets")
    stated = (triplet for item in listed[:most] if (triplet := _parsed_triplet(item)))
    accepted = tuple(dict.fromkeys(triplet for one in stated if (triplet := accept(one))))
    if listed and not accepted:
        raise ValueError("none of its triplets has a head, a relation and a tail")
    return accepted


def _parsed_triplet(item: object) -> Triplet | None:
    parts = [item.get(name) for name in Triplet._fields] if isinstance(item, dict) else item
    if not isinstance(parts, list) or len(parts) != _PARTS:
        return None
    if not all(isinstance(part, str) and part.strip() for part in parts):
        return None
    return Triplet(*(part.strip() for part in parts))
