"""Containers for a hundred thousand records: all but the last few thousand are kept as blocks of compressed JSON,
a tenth of the size of objects.

Iteration in order decompresses one block at a time; each random access may decompress a block.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter

BLOCK = 256
"""Records per block. Smaller blocks compress less; larger ones are slower to access."""
KEPT = 4_096
"""The last records stay uncompressed; most runs have no more than this."""

T = TypeVar("T")
K = TypeVar("K")


class CompressedRecords(Generic[T]):
    """A compressed list. Records read back are equal to those added, but may be new objects each time."""

    def __init__(self, kind: Any, records: Iterable[T] = ()) -> None:
        """`kind`: type of the records, which pydantic can read from JSON."""
        self._schema: TypeAdapter[list[T]] = TypeAdapter(list[kind])
        self._blocks: list[bytes] = []
        self._open: list[T] = []
        """The last records, not yet in a block."""
        self._seen: tuple[int, list[T]] = (-1, [])
        """The last decompressed block and its number."""
        for record in records:
            self.append(record)

    def append(self, record: T) -> None:
        self._open.append(record)
        if len(self._open) == KEPT + BLOCK:
            block, self._open = self._open[:BLOCK], self._open[BLOCK:]
            self._blocks.append(zlib.compress(self._schema.dump_json(block, exclude_defaults=True), 1))

    def __len__(self) -> int:
        return BLOCK * len(self._blocks) + len(self._open)

    def __iter__(self) -> Iterator[T]:
        for block in self._blocks:
            yield from self._read(block)
        yield from self._open

    def __getitem__(self, number: int) -> T:
        """The record at a position from 0."""
        block, place = divmod(number, BLOCK)
        if block >= len(self._blocks):
            return self._open[number - BLOCK * len(self._blocks)]
        if self._seen[0] != block:
            self._seen = block, self._read(self._blocks[block])
        return self._seen[1][place]

    def at(self, numbers: Iterable[int]) -> list[T]:
        """The records at these positions, in this order; each block is decompressed once."""
        listed = list(numbers)
        found = {number: self[number] for number in sorted(listed)}
        return [found[number] for number in listed]

    def is_same(self, other: CompressedRecords[T]) -> bool:
        """Whether both contain the same records in the same order. Equal JSON gives equal blocks."""
        return self._blocks == other._blocks and self._open == other._open

    def _read(self, block: bytes) -> list[T]:
        return self._schema.validate_json(zlib.decompress(block))


class CompressedByKey(Mapping[K, T]):
    """A compressed mapping, in the order of insertion. A later record for a key replaces the earlier one, at its
    own position.
    """

    def __init__(self, kind: Any) -> None:
        """`kind`: type of the records, as for `CompressedRecords`."""
        self.all: CompressedRecords[T] = CompressedRecords(kind)
        """All records, including replaced ones."""
        self.numbers: dict[K, int] = {}
        """Position in `all` of the record for each key, ascending."""

    def put(self, key: K, record: T, *, counts: bool = True) -> None:
        """Add a record; with `counts=False` it is not stored under its key."""
        if counts:
            # Without pop, the key would keep the position of the replaced record.
            self.numbers.pop(key, None)
            self.numbers[key] = len(self.all)
        self.all.append(record)

    def __getitem__(self, key: K) -> T:
        return self.all[self.numbers[key]]

    def at(self, keys: Iterable[K]) -> list[T]:
        """The records for these keys, in this order."""
        return self.all.at(self.numbers[key] for key in keys)

    def is_same(self, other: CompressedByKey[K, T]) -> bool:
        """Whether both contain the same records under the same keys."""
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
