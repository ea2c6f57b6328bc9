"""Loads the documents that questions are written about."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.core.errors import ConfigError
from harness.core.records import Document
from harness.datasets.folder import read_folder
from harness.protocols import ReadingProgress
from harness.registry import DATASETS


@dataclass(frozen=True)
class DocumentPlace:
    """The source of the documents: a folder, or a data set by name."""

    folder: Path | None = None
    dataset: str | None = None
    subset: str | None = None
    include: tuple[str, ...] = ()
    """Only for a folder: see `read_folder`."""

    @property
    def named(self) -> str:
        """As the user gave it."""
        return str(self.folder if self.dataset is None else self.dataset)


@dataclass(frozen=True)
class PlacedDocuments:
    documents: Sequence[Document]
    notes: tuple[str, ...] = ()
    """Such as how many files were skipped, and why."""


def read_documents(place: DocumentPlace, progress: ReadingProgress) -> PlacedDocuments:
    """ConfigError: both or neither of folder and data set are given. DataError: no documents."""
    if (place.folder is None) == (place.dataset is None):
        fix = "a folder (rag-harness questions papers), or --dataset NAME for the documents of a data set"
        raise ConfigError("name the documents exactly once", fix)
    if place.folder is not None:
        corpus = read_folder(place.folder, progress, place.include)
        return PlacedDocuments(corpus.documents, corpus.notes)
    spec = DATASETS.load(str(place.dataset))
    return PlacedDocuments(spec.read(place.subset or spec.subsets[0], progress=progress).documents)


def check_out(out: Path, folder: Path | None) -> None:
    """Raise ConfigError if the question file could not be read as one, or would be one of the documents."""
    if out.suffix != ".jsonl":
        fix = "name it with .jsonl; `rag-harness review FILE --to-csv` makes a sheet of it"
        raise ConfigError(f"{out}: a question file is written as JSON Lines", fix)
    if folder is not None and out.resolve().is_relative_to(folder.resolve()):
        raise ConfigError(
            f"{out} lies in {folder}, where it would be read as a document", "name an --out elsewhere"
        )
