"""Records of which there may be a hundred thousand: all but the last few thousand are blocks of compressed JSON, a
tenth as large as objects are.

Who goes through them in their order has the objects of one block at a time; in any other order each look-up costs
a block.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter

BLOCK = 256
"""Records in one. Fewer have less in common that is written once; more take longer to look up one."""
KEPT = 4_096
"""The last so many stay objects: most runs have no more, and take no time for what they need not."""
_QUICKLY = 1
"""Of zlib's levels."""

T = TypeVar("T")
K = TypeVar("K")


class Packed(Generic[T]):
    """In the order added. What comes out equals what went in, and may be another object each time."""

    def __init__(self, kind: Any, records: Iterable[T] = ()) -> None:
        """`kind`: the type of one, as pydantic reads it from JSON."""
        self._schema: TypeAdapter[list[T]] = TypeAdapter(list[kind])
        self._blocks: list[bytes] = []
        self._open: list[T] = []
        """The last, which are no block yet."""
        self._seen: tuple[int, list[T]] = (-1, [])
        """The block that was looked into last."""
        for record in records:
            self.append(record)

    def append(self, record: T) -> None:
        """One more."""
        self._open.append(record)
        if len(self._open) == KEPT + BLOCK:
            block, self._open = self._open[:BLOCK], self._open[BLOCK:]
            self._blocks.append(zlib.compress(self._schema.dump_json(block, exclude_defaults=True), _QUICKLY))

    def __len__(self) -> int:
        return BLOCK * len(self._blocks) + len(self._open)

    def __iter__(self) -> Iterator[T]:
        for block in self._blocks:
            yield from self._read(block)
        yield from self._open

    def __getitem__(self, number: int) -> T:
        """One by its place from 0 on."""
        block, place = divmod(number, BLOCK)
        if block >= len(self._blocks):
            return self._open[number - BLOCK * len(self._blocks)]
        if self._seen[0] != block:
            self._seen = block, self._read(self._blocks[block])
        return self._seen[1][place]

    def at(self, numbers: Iterable[int]) -> list[T]:
        """Those at these places, in this order; each block is looked into once."""
        listed = list(numbers)
        found = {number: self[number] for number in sorted(listed)}
        return [found[number] for number in listed]

    def is_same(self, other: Packed[T]) -> bool:
        """Whether both hold the same in the same order: the same JSON makes the same blocks."""
        return self._blocks == other._blocks and self._open == other._open

    def _read(self, block: bytes) -> list[T]:
        return self._schema.validate_json(zlib.decompress(block))


class PackedByKey(Mapping[K, T]):
    """By key, in the order in which they were put; of several under one key the last counts, at its own place."""

    def __init__(self, kind: Any) -> None:
        """`kind` as for `Packed`."""
        self.all: Packed[T] = Packed(kind)
        """Those too that do not count."""
        self.numbers: dict[K, int] = {}
        """The place in `all` of what each key stands for, ascending."""

    def put(self, key: K, record: T, *, counts: bool = True) -> None:
        """One more; what does not count is not found by its key."""
        if counts:
            # A key that is there would keep its place, which is that of a record that counts no longer.
            self.numbers.pop(key, None)
            self.numbers[key] = len(self.all)
        self.all.append(record)

    def __getitem__(self, key: K) -> T:
        return self.all[self.numbers[key]]

    def at(self, keys: Iterable[K]) -> list[T]:
        """Of each of these, in this order."""
        return self.all.at(self.numbers[key] for key in keys)

    def is_same(self, other: PackedByKey[K, T]) -> bool:
        """Whether both hold the same under the same keys."""
        if self.numbers.keys() != other.numbers.keys():
            return False
        if self.numbers == other.numbers and self.all.is_same(other.all):
            return True
        return all(one == same for one, same in zip(self.values(), other.at(self), strict=True))

    def __contains__(self, key: object) -> bool:
        return key in self.numbers

    def __iter__(self) -> Iterator[K]:
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)
