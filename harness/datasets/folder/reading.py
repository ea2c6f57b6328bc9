"""A folder of files as documents: every file is a document, is skipped for a reason, or holds many."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from harness.datasets.folder.listing import Skipped, list_files
from harness.datasets.folder.plain import read_markdown, read_text
from harness.datasets.folder.texts import NoDocument, ReadText, one_line, plain
from harness.errors import DataError
from harness.plain_files import read_plain, without_home
from harness.protocols import ReadingProgress, untold
from harness.records import Document

_MOST_BYTES = 100_000_000
_READERS: dict[str, Callable[[bytes], ReadText]] = {
    ".txt": read_text,
    ".md": read_markdown,
    ".markdown": read_markdown,
}
_NOT_READ = "of a kind that is not read"


@dataclass(frozen=True)
class FolderCorpus:
    """What a folder holds."""

    documents: tuple[Document, ...]
    """By doc_id. The id of a file is its path from the folder, with forward slashes, composed (NFC)."""
    skipped: tuple[Skipped, ...]
    """By path."""
    notes: tuple[str, ...]
    """What a reader of a report must know: how many were read and skipped, and why; no name of a file."""


def read_folder(path: Path, progress: ReadingProgress = untold) -> FolderCorpus:
    """Every document under the folder, in an order that is the same on every machine.

    DataError of one line: the folder is not there, or nothing in it can be read.
    """
    listing = list_files(path)
    documents: dict[str, Document] = {}
    skipped = list(listing.skipped)
    for number, (name, file) in enumerate(listing.files.items()):
        progress(number, len(listing.files), "documents")
        try:
            for read in _read(name, file):
                document = _document(name, read)
                if document.doc_id in documents:
                    skipped.append(Skipped(name, "its doc_id occurs before"))
                else:
                    documents[document.doc_id] = document
        except NoDocument as error:
            skipped.append(Skipped(name, str(error)))
    if not documents:
        raise DataError(
            f"no document in {path}{_in_brackets(skipped)}", f"put files there that end in {', '.join(_READERS)}"
        )
    skipped.sort(key=lambda one: (one.path, one.why))
    ordered = tuple(documents[doc_id] for doc_id in sorted(documents))
    return FolderCorpus(ordered, tuple(skipped), _notes(path, ordered, skipped))


def _read(name: str, file: Path) -> Iterator[ReadText]:
    reader = _READERS.get(PurePosixPath(name).suffix.lower())
    if reader is None:
        raise NoDocument(_NOT_READ)
    try:
        content = read_plain(file, _MOST_BYTES)
    except OSError as error:
        raise NoDocument(f"cannot be read ({error.strerror})") from error
    yield reader(content)


def _document(name: str, read: ReadText) -> Document:
    text = plain(read.text)
    if not text.strip():
        raise NoDocument("without text")
    return Document(
        doc_id=read.doc_id or name,
        text=text,
        title=one_line(read.title) or one_line(PurePosixPath(name).stem),
        metadata=read.metadata,
    )


def _notes(path: Path, documents: tuple[Document, ...], skipped: list[Skipped]) -> tuple[str, ...]:
    said = [f"{len(documents):,} documents were read from {without_home(os.fspath(path))}"]
    if skipped:
        said.append(f"{len(skipped):,} files were skipped: {_reasons(skipped)}")
    return tuple(said)


def _in_brackets(skipped: list[Skipped]) -> str:
    return f" ({_reasons(skipped)})" if skipped else ""


def _reasons(skipped: list[Skipped]) -> str:
    counted = Counter(one.why for one in skipped)
    return ", ".join(
        f"{count:,} {why}" for why, count in sorted(counted.items(), key=lambda one: (-one[1], one[0]))
    )
