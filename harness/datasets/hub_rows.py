"""Rows of a data set from the data directory, or else from the Hugging Face hub."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from pydantic import Field

from harness.core.errors import DataError, HarnessError, MissingDependency, install
from harness.core.hashing import text_digest
from harness.core.records import Document
from harness.datasets import local_files
from harness.datasets.decompression_limits import check_foreign
from harness.datasets.published_check import departures, fetched_by_hand
from harness.datasets.row_fields import FileEntry, as_entry
from harness.models.huggingface_hub_files import hub_is_reachable
from harness.protocols import Params, RawDataset

HubRows = Sequence[Mapping[str, object]]
"""Rows of a table, read on demand."""


@dataclass(frozen=True)
class HubTable:
    repo: str
    config: str | None = None
    split: str = "train"
    file: str | None = None
    """A file of the repository that no table of it names."""

    def __str__(self) -> str:
        table = f"{self.config or 'default'}/{self.split}"
        return f"{self.repo} {self.file or table}"


class PooledParams(Params):
    """The part of a data set whose questions come with their own passages, all of which are one corpus."""

    queries: int | None = Field(1000, ge=1)
    """Number of queries, drawn with `seed`. Their passages are the corpus, so the passages of other queries are
    distractors. None: all queries, with up to several hundred thousand passages."""
    seed: int = 42

    def note(self, raw: RawDataset, whole: int) -> str:
        own = sum(len(row.doc_ids) for row in raw.rows) / len(raw.rows)
        is_part = (self.queries or whole) < whole
        drawn = f" of {whole:,} queries, drawn with seed {self.seed}" if is_part else " queries"
        return (
            f"{len(raw.rows):,}{drawn}; their {len(raw.documents):,} passages are the full corpus, about "
            f"{len(raw.documents) - own:,.0f} of them distractors for each query"
        )


class Pool:
    def __init__(self) -> None:
        self.documents: dict[Hashable, Document] = {}
        self._taken: set[str] = set()

    def add(self, passage: Hashable, name: Callable[[str], Sequence[str]], text: str, **fields: Any) -> str:
        """The doc_id of a passage: of the ids that `name` makes of the digest of its text, the first that is free.
        A passage that is there already keeps its fields.
        """
        if passage not in self.documents:
            doc_id = next(one for one in name(text_digest(text)) if one not in self._taken)
            self._taken.add(doc_id)
            self.documents[passage] = Document(doc_id=doc_id, text=text, **fields)
        return self.documents[passage].doc_id


@dataclass(frozen=True)
class PublicRows:
    rows: list[FileEntry]
    whole: int
    """Number of rows of the whole file or table."""
    file: str
    """Relative to the data directory, also for rows of the hub."""

    @property
    def departures(self) -> tuple[str, ...]:
        """A line if they are not the published rows, where those are known. A part of them cannot be checked."""
        return departures(self.file, self.rows) if len(self.rows) == self.whole else ()


def load_rows(file: str, table: HubTable, most: int | None = None, seed: int = 0, instead: str = "") -> PublicRows:
    """The rows of `file` in the data directory, of `instead` if only that file is there, or else of `table` on the
    hub; `most`: a random draw of so many. With one seed, a smaller draw is part of a larger one. Other rows of a
    hub table are not read into memory. DataError: nothing can be read, or it is empty. MissingDependency: the hub
    needs the package `datasets`.
    """
    path = local_files.find(file)
    if path is None and instead and (path := local_files.find(instead)):
        file = instead
    if path is None:
        rows, whole = _hub_rows(file, table, most, seed)
    else:
        rows = local_files.read_rows(path)
        whole = len(rows)
        rows = [rows[place] for place in _drawn(whole, most, seed)]
    if not rows:
        raise DataError(f"{path or table} has no rows", f"put the full {file} in the data directory")
    return PublicRows(rows, whole, file)


def _drawn(whole: int, most: int | None, seed: int) -> list[int]:
    places = list(range(whole))
    if most is None or most >= whole:
        return places
    Random(seed).shuffle(places)  # noqa: S311 - a sample, not a secret
    return sorted(places[:most])


def fetch(table: HubTable) -> HubRows:
    """Download `table` with the package `datasets`, which caches it, and return its rows in order."""
    if not hub_is_reachable():
        # Offline mode still reads the library's cache, and anything else fails at once, not after half a minute.
        os.environ["HF_HUB_OFFLINE"] = "1"
    import datasets

    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    builder = datasets.load_dataset_builder(table.repo, table.config, data_files=table.file)
    builder.download_and_prepare(dl_manager=_checked_downloads())
    rows: HubRows = builder.as_dataset(split=table.split)
    return rows


def _checked_downloads() -> object:
    """A download manager that checks the size limits of each file before it is read; most formats have none."""
    import datasets
    from datasets.utils.py_utils import NestedDataStructure

    class CheckedDownloads(datasets.DownloadManager):  # type: ignore[misc] # the library has no types
        def download(self, url_or_urls: object) -> object:
            paths = super().download(url_or_urls)
            for path in NestedDataStructure(paths).flatten():
                check_foreign(Path(path))
            return paths

    return CheckedDownloads(download_config=datasets.DownloadConfig(use_etag=False))


def _hub_rows(relative: str, table: HubTable, most: int | None, seed: int) -> tuple[list[FileEntry], int]:
    """The drawn rows, and the number of all rows."""
    try:
        held = fetch(table)
        rows = [(place, held[place]) for place in _drawn(len(held), most, seed)]
    except Exception as error:  # The library raises many unrelated types.
        # For a damaged table the library's message is unspecific; the reason is in the cause.
        cause = error.__cause__ or error
        reason = f"{type(cause).__name__}: {' '.join(str(cause).split())[:160]}"
        kind: type[HarnessError] = DataError
        way = "connect to the network and try again"
        if isinstance(error, ImportError):
            kind, way = MissingDependency, install("hub")
        elif isinstance(error, HarnessError):
            reason, way = error.what, ""
        missing = f"{relative} is missing in the data directory {local_files.data_dir()}"
        command = fetched_by_hand(relative)
        ways = (f"set {local_files.ENV} to a folder with {relative}", way, command and f"run: {command}")
        what = f"{missing}, and {table} on the Hugging Face hub could not be read ({reason})"
        raise kind(what, ", or ".join(filter(None, ways))) from error
    return [as_entry(f"hub {table} row {place + 1}", row) for place, row in rows], len(held)
