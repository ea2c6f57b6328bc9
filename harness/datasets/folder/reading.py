"""Reads a folder of files as documents. A file is one document, several (JSON Lines), or skipped with a reason."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from harness.core.bounded_files import read_plain, without_home
from harness.core.errors import DataError
from harness.core.languages import UNKNOWN_LANGUAGE, languages_of
from harness.core.records import Document
from harness.datasets.folder.file_listing import (
    IGNORED,
    NO_DOCUMENTS,
    PRIVATE_KEY,
    SECRET,
    Listing,
    Skipped,
    list_files,
)
from harness.datasets.folder.parse_cache import parse_or_recall
from harness.datasets.folder.parser_process import READERS
from harness.datasets.folder.plain_text import PLAIN, named_by_ids, read_rows_of, read_text
from harness.datasets.folder.text_cleanup import (
    UNREADABLE,
    NoDocument,
    ReadFile,
    ReadText,
    composed,
    one_line,
    plain,
)
from harness.protocols import ReadingProgress, no_progress
from harness.protocols.datasets import LISTED_BY_PLAN

_MOST_BYTES, _MOST_ALIKE = 100_000_000, 5
_ROWS = ".jsonl"
_UNREADABLE = "characters lost in an earlier conversion (\N{REPLACEMENT CHARACTER}; convert the original again)"
KINDS = (*PLAIN, *READERS, _ROWS)
"""Extensions of the files that are read."""


@dataclass(frozen=True)
class KindCount:
    files: int
    documents: int
    characters: int


@dataclass(frozen=True)
class FolderCorpus:
    documents: tuple[Document, ...]
    """Sorted by doc_id. The id of a file is its relative path with forward slashes, in NFC."""
    skipped: tuple[Skipped, ...]
    """Sorted by path."""
    incomplete: tuple[Skipped, ...]
    """Documents of which a part could not be read."""
    notes: tuple[str, ...]
    """Notes for the report: how many files were read and skipped, and why. They contain no file names."""
    kinds: Mapping[str, KindCount]
    """By extension, sorted."""
    languages: Mapping[str, int]
    """Documents by language, the most frequent first; `UNKNOWN_LANGUAGE` for those that are not recognised."""

    @property
    def listed(self) -> tuple[str, ...]:
        """A line for each file that is skipped or needs attention; hidden files and the like are only counted."""
        return (
            *(f"skipped {one.path}: {one.why}" for one in self.skipped if one.why not in NO_DOCUMENTS),
            *(f"in {one.path}: {one.why}" for one in self.incomplete),
        )


def read_folder(
    path: Path,
    progress: ReadingProgress = no_progress,
    include: Sequence[str] = (),
    questions: Path | None = None,
) -> FolderCorpus:
    """Read all documents under the folder, in an order that is the same on every machine. A file that matches a
    pattern of `include` is read although it is hidden, ignored or secret, and as text if its kind is unknown.
    `questions`: a file in the folder that is no document. DataError: nothing can be read.
    """
    listing = list_files(path, include)
    for name, own in list(listing.files.items()):
        with suppress(OSError):
            if questions is not None and own.samefile(questions):
                del listing.files[name]
                listing.skipped.append(Skipped(name, "the question file"))
    gathered = _Gathered(listing.skipped, listing.included)
    for name, file in sorted(named_by_ids(_read_files(listing, progress))):
        gathered.add(name, file)
    if not gathered.documents:
        shown = without_home(os.fspath(path))
        skipped = f" ({_reasons(gathered.skipped)})" if gathered.skipped else ""
        fix = f"add files with the extensions {', '.join(KINDS)}"
        raise DataError(f"no documents in {shown}{skipped}", fix + gathered.way_to_include())
    return gathered.corpus(path)


def _read_files(listing: Listing, progress: ReadingProgress) -> dict[str, ReadFile]:
    kinds = {name: PurePosixPath(name).suffix.lower() for name in listing.files}
    risky = {name: (path, kinds[name]) for name, path in listing.files.items() if kinds[name] in READERS}
    found: dict[str, ReadFile] = {}

    def tell() -> None:
        progress(len(found), len(listing.files), "documents")

    tell()
    for name, path in listing.files.items():
        if name not in risky:
            found[name] = _read(name, kinds[name], path, is_text=name in listing.included)
            tell()
    for name, file in parse_or_recall(risky):
        found[name] = file
        tell()
    return found


def _read(name: str, kind: str, path: Path, *, is_text: bool) -> ReadFile:
    """`is_text`: read a file of unknown kind as text."""
    try:
        if kind not in KINDS and not is_text:
            raise NoDocument(f"unsupported kind: {kind or 'no extension'}")
        content = read_plain(path, _MOST_BYTES)
        return read_rows_of(name, content) if kind == _ROWS else ReadFile([PLAIN.get(kind, read_text)(content)])
    except NoDocument as error:
        return ReadFile(refused=[("", str(error))])
    except OSError as error:
        return ReadFile(refused=[("", f"cannot be read ({error.strerror})")])


@dataclass
class _Gathered:
    skipped: list[Skipped]
    included: Set[str]
    documents: dict[str, Document] = field(default_factory=dict)
    remarks: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    kinds: dict[str, KindCount] = field(default_factory=dict)
    incomplete: list[Skipped] = field(default_factory=list)

    def add(self, name: str, file: ReadFile) -> None:
        self.skipped += [Skipped(_where(name, place), why) for place, why in file.refused]
        added = [self._add(name, one) for one in file.documents]
        if any(added):
            kind = PurePosixPath(name).suffix.lower()
            counts = self.kinds.get(kind, KindCount(0, 0, 0))
            n_documents, length = counts.documents + sum(map(bool, added)), counts.characters + sum(added)
            self.kinds[kind] = KindCount(counts.files + 1, n_documents, length)

    def _add(self, name: str, one: ReadText) -> int:
        """The length of its text; 0 if it is skipped."""
        where, part = _where(name, one.place), composed(one.part)
        text, doc_id = plain(one.text), composed(one.doc_id) or (f"{name}#{part}" if part else name)
        remarks = dict(one.remarks)
        if not name.lower().endswith(".pdf") and (unknown := len(UNREADABLE.findall(text))):
            remarks[_UNREADABLE] = unknown
        why = "" if text.strip() else "without text"
        if name not in self.included and PRIVATE_KEY.search(text):
            why = SECRET
        elif not why and doc_id in self.documents:
            why = "same doc_id as another document"
        if why:
            self.skipped.append(Skipped(where, why))
            return 0
        self.documents[doc_id] = Document(
            doc_id=doc_id,
            text=text,
            title=one_line(", ".join(filter(None, (one.title or PurePosixPath(name).stem, one.part)))),
            metadata={one_line(key): plain(value) for key, value in one.metadata.items()},
        )
        self.remarks.update(remarks)
        self.left_out.update(one.left_out)
        self.incomplete += [Skipped(where, f"{what}: {count:,}") for what, count in remarks.items()]
        return len(text)

    def corpus(self, path: Path) -> FolderCorpus:
        ordered = tuple(self.documents[doc_id] for doc_id in sorted(self.documents))
        skipped = tuple(sorted(self.skipped, key=lambda one: (one.path, one.why)))
        incomplete = tuple(sorted(self.incomplete, key=lambda one: (one.path, one.why)))
        languages = languages_of([document.text for document in ordered])
        notes = tuple(self._notes(path, languages))
        return FolderCorpus(ordered, skipped, incomplete, notes, dict(sorted(self.kinds.items())), languages)

    def way_to_include(self) -> str:
        """A hint how to read the files that a rule excluded, if there are any."""
        left_out = {one.why for one in self.skipped} & {IGNORED, SECRET}
        return "; --include PATTERN also reads ignored or secret files" if left_out else ""

    def _notes(self, path: Path, languages: Mapping[str, int]) -> Iterator[str]:
        yield f"documents read from {without_home(os.fspath(path))}: {len(self.documents):,}"
        if set(languages) != {UNKNOWN_LANGUAGE}:
            yield f"languages of the documents: {_counted(languages)}"
        if listed := [one for one in self.skipped if one.why not in NO_DOCUMENTS]:
            skipped = f"{_reasons(listed)}{self.way_to_include()}"
            yield f"files or rows skipped ({len(listed):,}{LISTED_BY_PLAN}): {skipped}"
        if apart := [one for one in self.skipped if one.why in NO_DOCUMENTS]:
            yield f"not searched for documents: {_reasons(apart)}"
        yield from (f"{remark}: {count:,}" for remark, count in sorted(self.remarks.items()))
        if self.left_out:
            left_out = _counted(dict(sorted(self.left_out.items())))
            yield f"left out, because it is not the content of a document: {left_out}"
        texts: dict[str, list[str]] = {}
        for doc_id, document in self.documents.items():
            texts.setdefault(document.text, []).append(doc_id)
        if alike := [" = ".join(ids) for ids in texts.values() if len(ids) > 1]:
            more = f" and {len(alike) - _MOST_ALIKE:,} more" if len(alike) > _MOST_ALIKE else ""
            yield (
                f"documents with the same text as another: {', '.join(alike[:_MOST_ALIKE])}{more}; "
                "retrieving one does not count as retrieving the other, so metrics by document are too low for "
                "questions about them; facts are found in either"
            )


def _where(name: str, place: str) -> str:
    return f"{name} {place}" if place else name


def _reasons(skipped: list[Skipped]) -> str:
    counted = Counter(one.why for one in skipped)
    return _counted(dict(sorted(counted.items(), key=lambda one: (-one[1], one[0]))))


def _counted(counts: Mapping[str, int]) -> str:
    return "; ".join(f"{what} ({count:,})" for what, count in counts.items())
