"""A folder of files as documents: every file is a document, is skipped for a reason, or holds many."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from harness.core.bounded_files import read_plain, without_home
from harness.core.errors import DataError
from harness.core.records import Document
from harness.datasets.folder.file_listing import Listing, Skipped, list_files
from harness.datasets.folder.ignore_rules import IGNORED, SECRET, holds_private_key
from harness.datasets.folder.jsonl_documents import PlacedRow, named_by_ids, read_rows_of
from harness.datasets.folder.parse_cache import parse_or_recall
from harness.datasets.folder.parser_process import READERS
from harness.datasets.folder.plain_text import read_markdown, read_text
from harness.datasets.folder.text_cleanup import NoDocument, ReadText, one_line, plain
from harness.protocols import ReadingProgress, untold

_MOST_BYTES = 100_000_000
_PLAIN: dict[str, Callable[[bytes], ReadText]] = {
    ".txt": read_text,
    ".text": read_text,
    ".md": read_markdown,
    ".markdown": read_markdown,
}
_ROWS = ".jsonl"
KINDS = (*_PLAIN, *READERS, _ROWS)
"""The ends of names of files that are read."""


@dataclass(frozen=True)
class FolderCorpus:
    """What a folder holds."""

    documents: tuple[Document, ...]
    """By doc_id. The id of a file is its path from the folder, with forward slashes, composed (NFC)."""
    skipped: tuple[Skipped, ...]
    """By path."""
    notes: tuple[str, ...]
    """What a reader of a report must know: how many were read and skipped, and why; no name of a file."""


def read_folder(path: Path, progress: ReadingProgress = untold, include: Sequence[str] = ()) -> FolderCorpus:
    """Every document under the folder, in an order that is the same on every machine. A file that a pattern of
    `include` names is read although it is hidden, ignored or secret, and as text where its kind is not known.

    DataError of one line: the folder is not there, or nothing in it can be read.
    """
    listing = list_files(path, include)
    gathered = _Gathered(list(listing.skipped), listing.included)
    for name, found in sorted(named_by_ids(_found(listing, progress))):
        for where, one in found:
            gathered.add(name, where, one)
    if not gathered.documents:
        shown = without_home(os.fspath(path))
        skipped = f" ({_reasons(gathered.skipped)})" if gathered.skipped else ""
        fix = f"put files there that end in {', '.join(KINDS)}"
        raise DataError(f"no document in {shown}{skipped}", fix + gathered.way_to_include())
    return gathered.corpus(path)


def _found(listing: Listing, progress: ReadingProgress) -> dict[str, list[PlacedRow]]:
    """By name of the file what it holds."""
    kinds = {name: PurePosixPath(name).suffix.lower() for name in listing.files}
    risky = {name: (path, kinds[name]) for name, path in listing.files.items() if kinds[name] in READERS}
    found: dict[str, list[PlacedRow]] = {}

    def tell() -> None:
        progress(len(found), len(listing.files), "documents")

    tell()
    for name, path in listing.files.items():
        if name not in risky:
            found[name] = list(_read(name, kinds[name], path, is_text=name in listing.included))
            tell()
    for name, one in parse_or_recall(risky):
        found[name] = [(name, one)]
        tell()
    return found


def _read(name: str, kind: str, path: Path, *, is_text: bool) -> Iterator[PlacedRow]:
    """`is_text`: it is taken for text where its kind is not known."""
    if kind not in KINDS and not is_text:
        yield name, NoDocument(f"of a kind that is not read: {kind or 'no ending'}")
        return
    try:
        content = read_plain(path, _MOST_BYTES)
        if kind == _ROWS:
            yield from read_rows_of(name, content)
        else:
            yield name, _PLAIN.get(kind, read_text)(content)
    except NoDocument as error:
        yield name, error
    except OSError as error:
        yield name, NoDocument(f"cannot be read ({error.strerror})")


@dataclass
class _Gathered:
    """What has been found so far."""

    skipped: list[Skipped]
    included: Set[str]
    documents: dict[str, Document] = field(default_factory=dict)
    remarks: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, where: str, one: ReadText | NoDocument) -> None:
        """A document of that file, or the reason why it is none."""
        if isinstance(one, NoDocument):
            self.skipped.append(Skipped(where, str(one)))
            return
        text, doc_id = plain(one.text), plain(one.doc_id) or name
        if not text.strip():
            self.skipped.append(Skipped(where, "without text"))
        elif name not in self.included and holds_private_key(text):
            self.skipped.append(Skipped(where, SECRET))
        elif doc_id in self.documents:
            self.skipped.append(Skipped(where, "its doc_id is that of another document"))
        else:
            self.documents[doc_id] = Document(
                doc_id=doc_id,
                text=text,
                title=one_line(one.title) or one_line(PurePosixPath(name).stem),
                metadata={one_line(key): plain(value) for key, value in one.metadata.items()},
            )
            self.remarks.update(one.remarks)

    def corpus(self, path: Path) -> FolderCorpus:
        """All of it."""
        ordered = tuple(self.documents[doc_id] for doc_id in sorted(self.documents))
        skipped = tuple(sorted(self.skipped, key=lambda one: (one.path, one.why)))
        return FolderCorpus(ordered, skipped, tuple(self._notes(path)))

    def way_to_include(self) -> str:
        """How to have those that were left out by a rule."""
        left_out = {one.why for one in self.skipped} & {IGNORED, SECRET}
        return "; --include PATTERN adds what is ignored or secret" if left_out else ""

    def _notes(self, path: Path) -> Iterator[str]:
        yield f"documents read from {without_home(os.fspath(path))}: {len(self.documents):,}"
        if self.skipped:
            skipped = f"{_reasons(self.skipped)}{self.way_to_include()}"
            yield f"files or rows skipped ({len(self.skipped):,}; plan lists them): {skipped}"
        yield from (f"{remark}: {count:,}" for remark, count in sorted(self.remarks.items()))
        texts = Counter(document.text for document in self.documents.values())
        alike = sum(count for count in texts.values() if count > 1)
        if alike:
            yield (
                f"documents whose text another has too: {alike:,}; whoever finds the one has not found the other: "
                "measures of retrieval are too low for questions about them"
            )


def _reasons(skipped: list[Skipped]) -> str:
    counted = sorted(Counter(one.why for one in skipped).items(), key=lambda one: (-one[1], one[0]))
    return "; ".join(f"{why} ({count:,})" for why, count in counted)
