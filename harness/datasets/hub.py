"""Rows of a data set: from the data directory, or else from the Hugging Face hub."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.datasets import files
from harness.datasets.entries import FileEntry, as_entry
from harness.datasets.measuring import check_foreign
from harness.errors import DataError, MissingDependency, install
from harness.models.hub import hub_is_reachable


@dataclass(frozen=True)
class HubTable:
    """One table of one data set on the hub."""

    repo: str
    config: str | None = None
    split: str = "train"

    def __str__(self) -> str:
        return f"{self.repo} {self.config or 'default'}/{self.split}"


def load_rows(relative: str, table: HubTable) -> list[FileEntry]:
    """The rows of the file `relative` in the data directory or, where that file is not there, of `table`.

    Raises `DataError` if neither can be read or there is no row, `MissingDependency` if the file is not
    there and the `datasets` package is not installed.
    """
    path = files.find(relative)
    rows = files.read_rows(path) if path else _hub_rows(relative, table)
    if not rows:
        raise DataError(f"{path or table} holds no rows", f"put the full {relative} in the data directory")
    return rows


def fetch(table: HubTable) -> Iterable[Mapping[str, object]]:
    """Download `table` through the `datasets` library (its cache is used) and return its rows in order."""
    if not hub_is_reachable():
        # What is in the library's cache is still read; what is not fails at once instead of in half a minute.
        os.environ["HF_HUB_OFFLINE"] = "1"
    import datasets

    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    builder = datasets.load_dataset_builder(table.repo, table.config)
    builder.download_and_prepare(dl_manager=_checked_downloads())
    rows: Iterable[Mapping[str, object]] = builder.as_dataset(split=table.split)
    return rows


def _checked_downloads() -> object:
    """What downloads for the library, each file held to its bounds before it is read: most formats have none."""
    import datasets
    from datasets.utils.py_utils import NestedDataStructure

    class CheckedDownloads(datasets.DownloadManager):  # type: ignore[misc] # the library has no types
        def download(self, url_or_urls: object) -> object:
            paths = super().download(url_or_urls)
            for path in NestedDataStructure(paths).flatten():
                check_foreign(Path(path))
            return paths

    return CheckedDownloads(download_config=datasets.DownloadConfig(use_etag=False))


def _hub_rows(relative: str, table: HubTable) -> list[FileEntry]:
    missing = f"{relative} is not in the data directory {files.data_dir()}"
    ours = f"set {files.ENV} to a folder holding {relative}"
    try:
        rows = list(fetch(table))
    except DataError as error:
        raise DataError(f"{missing}, and of {table} on the hub, {error.what}", ours) from error
    except ImportError as error:
        what = f"{missing}, and the hub needs the 'datasets' package ({error})"
        raise MissingDependency(what, f"{ours}, or {install('hub')}") from error
    except Exception as error:  # the library raises a dozen unrelated types, from ValueError to OSError
        # Of a damaged table the library says only that it could not be made; why stands below that.
        cause = error.__cause__ or error
        reason = f"{type(cause).__name__}: {' '.join(str(cause).split())[:160]}"
        what = f"{missing}, and the Hugging Face hub did not give {table} ({reason})"
        raise DataError(what, f"{ours}, or connect to the network and try again") from error
    return [as_entry(f"hub {table} row {number}", row) for number, row in enumerate(rows, start=1)]
