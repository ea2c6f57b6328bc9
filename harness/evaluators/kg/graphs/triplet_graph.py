"""The triplets of one text and their entities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from harness.core.records import Triplet


@dataclass(frozen=True)
class TripletSide:
    """The distinct triplets of one text, sorted, and their entities; or names without triplets.

    Independent of the order and repetition of the given triplets.
    """

    triplets: tuple[Triplet, ...]
    """Labels without surplus white space; only a relation may be empty. Each triplet is one relation node, with an
    edge from its head and one to its tail."""
    dropped: int
    """Number of triplets without a head or tail."""
    names: tuple[str, ...] = ()
    """Entities without a triplet, sorted."""

    @staticmethod
    def of(triplets: Iterable[Sequence[str]], names: Iterable[str] = ()) -> TripletSide:
        """From (head, relation, tail) sequences; ValueError if one does not have three parts."""
        stated = [_cleaned(*triplet) for triplet in triplets]
        kept = [one for one in stated if one.head and one.tail]
        return TripletSide(tuple(sorted(set(kept))), len(stated) - len(kept), tuple(sorted(set(names))))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The entities: every distinct head, tail and name, sorted."""
        return tuple(sorted({*self.names, *(label for one in self.triplets for label in (one.head, one.tail))}))

    @cached_property
    def ends(self) -> tuple[tuple[int, int], ...]:
        """Head and tail of each triplet as indices into `labels`."""
        place = {label: number for number, label in enumerate(self.labels)}
        return tuple((place[one.head], place[one.tail]) for one in self.triplets)


def distinct_labels(inputs: TripletSide, contexts: TripletSide) -> list[str]:
    """The distinct labels to embed; none if a text is empty, because all scores are then 0."""
    if not inputs.labels or not contexts.labels:
        return []
    return list(dict.fromkeys([*inputs.labels, *contexts.labels]))


def _cleaned(*parts: str) -> Triplet:
    if len(parts) != 3:
        raise ValueError(f"a triplet is a head, a relation and a tail, not {len(parts)} parts")
    head, relation, tail = (" ".join(part.split()) for part in parts)
    return Triplet(head, relation, tail)
