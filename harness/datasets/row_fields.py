"""A row of a data file or hub table, with typed access to its fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from harness.core.errors import DataError
from harness.core.records import Evidence, Query, Reference
from harness.protocols import DatasetRow

T = TypeVar("T")
FIX = "put an intact copy in its place (data/README.md says where each file comes from)"


@dataclass(frozen=True)
class FileEntry:
    """An object with named fields and its location. Each getter returns the typed value, or raises a DataError
    with location and field. Texts contain no unpaired surrogates, so they can be hashed and written.
    """

    where: str
    """File and line or row, for messages."""
    fields: Mapping[str, object]

    def text(self, name: str, *, blank: bool = False) -> str:
        """The string in `name`; a blank one is rejected unless `blank`."""
        value = self._typed(name, str, "text")
        if not blank and not value.strip():
            raise DataError(f"{self.where}: field '{name}' is blank", FIX)
        return encodable(self.where, name, value)

    def nullable_text(self, name: str) -> str:
        """The string in `name`; empty if it is null."""
        return "" if self._get(name) is None else self.text(name, blank=True)

    def optional_text(self, name: str) -> str:
        """The string in `name`; empty if it is null or missing."""
        return self.nullable_text(name) if name in self.fields else ""

    def identifier(self, name: str) -> str:
        """The id in `name` as text. JSON files contain numbers, CSV files strings."""
        value = self._get(name)
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else self.text(name)

    def whole_number(self, name: str) -> int:
        return self._typed(name, int, "a whole number")

    def truth(self, name: str) -> bool:
        return self._typed(name, bool, "true or false")

    def moment(self, name: str) -> str:
        """The time in `name` in ISO 8601. Files contain a text, the hub possibly a datetime (UTC if naive)."""
        value = self.fields.get(name)
        if isinstance(value, datetime):
            return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
        return self.optional_text(name)

    def values(self, name: str) -> list[object]:
        return self._typed(name, list, "a list")

    def texts(self, name: str) -> list[str]:
        found = []
        for value in self.values(name):
            if not isinstance(value, str):
                raise self._wrong(name, "a list of texts", value)
            found.append(encodable(self.where, name, value))
        return found

    def entry(self, name: str) -> FileEntry:
        return as_entry(f"{self.where}, {name}", self._get(name))

    def entries(self, name: str) -> list[FileEntry]:
        return as_entries(f"{self.where}, {name}", self.values(name))

    def rows(self, *names: str) -> list[FileEntry]:
        """The rows of a table that is written by columns: lists of one length."""
        columns = [self.values(name) for name in names]
        if len({len(column) for column in columns}) > 1:
            raise DataError(f"{self.where}: {', '.join(names)} differ in length", FIX)
        rows = enumerate(zip(*columns, strict=True), start=1)
        return [FileEntry(f"{self.where} row {n}", dict(zip(names, row, strict=True))) for n, row in rows]

    def _get(self, name: str) -> object:
        if name not in self.fields:
            raise DataError(f"{self.where}: field '{name}' is missing", FIX)
        return self.fields[name]

    def _typed(self, name: str, kind: type[T], wanted: str) -> T:
        value = self._get(name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self._wrong(name, wanted, value)
        return value

    def _wrong(self, name: str, wanted: str, value: object) -> DataError:
        return DataError(f"{self.where}: field '{name}' must be {wanted}, not {kind_of(value)}", FIX)


def dataset_row(
    query_id: str,
    question: str,
    query_type: str,
    answers: Iterable[str],
    evidence: Iterable[Evidence] = (),
    doc_ids: Iterable[str] | None = None,
) -> DatasetRow:
    """A query with its gold data. `doc_ids`: the documents attached to it; None: those of its evidence."""
    evidence = tuple(evidence)
    attached = (item.doc_id for item in evidence) if doc_ids is None else doc_ids
    return DatasetRow(
        Query(query_id=query_id, text=question),
        Reference(query_id=query_id, query_type=query_type, answers=tuple(answers), evidence=evidence),
        tuple(dict.fromkeys(attached)),
    )


def encodable(where: str, name: str, value: str, fix: str = FIX) -> str:
    """The text of a field. DataError for an unpaired surrogate, which JSON can contain and UTF-8 files cannot."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{where}: field '{name}' contains an unpaired surrogate", fix) from error
    return value


def as_entry(where: str, value: object) -> FileEntry:
    """`value` as a `FileEntry`; DataError if it is not an object."""
    if not isinstance(value, Mapping):
        raise DataError(f"{where}: expected an object, found {kind_of(value)}", FIX)
    return FileEntry(where, value)


def as_entries(where: str, value: object) -> list[FileEntry]:
    """`value` as a list of objects, numbered from 1 in messages; DataError if it is not."""
    if not isinstance(value, list):
        raise DataError(f"{where}: expected an array of objects, found {kind_of(value)}", FIX)
    return [as_entry(f"{where} row {number}", item) for number, item in enumerate(value, start=1)]


def kind_of(value: object) -> str:
    """The JSON name of the type of `value`."""
    names = {dict: "an object", list: "an array", str: "text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else type(value).__name__)
