"""Reads PDF files: the text of each page, page breaks, and headings from the outline."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from harness.datasets.folder.text_cleanup import PAGE_BREAK, NoDocument, ReadText, heading, no_heading

if TYPE_CHECKING:
    from pypdf import PdfReader

_MOST_CHARACTERS = 50_000_000
_OF_A_PROGRAM = re.compile(
    r"\.(docx?|pdf|dvi|tex|indd|qxd|rtf|odt|pptx?|xlsx?|fm)$|^microsoft |^untitled|^unknown", re.I
)
"""Titles that a program derived from a file name."""
_NUMBER = re.compile(r"^(\d+(\.\d+)*|[A-Z]|[IVXLC]+)[.)]?\s+")


def read_pdf(file: BinaryIO, at_work: Callable[[], None]) -> ReadText:
    """The text of all pages; `at_work` is called before each page.

    NoDocument: a password is needed, no page has text, or it is not a PDF.
    """
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError, LimitReachedError, WrongPasswordError

    encrypted = NoDocument("encrypted: save it without a password")
    try:
        reader = PdfReader(file)
        # A file that only restricts printing or copying opens with an empty password.
        if reader.is_encrypted and not reader.decrypt(""):
            raise encrypted
        return _read(reader, at_work)
    except (FileNotDecryptedError, WrongPasswordError, DependencyError) as error:
        raise encrypted from error
    except LimitReachedError as error:
        raise NoDocument("too large when unpacked") from error


def _read(reader: PdfReader, at_work: Callable[[], None]) -> ReadText:
    titles = _outline(reader)
    pages: list[str] = []
    failed = length = 0
    for number, page in enumerate(reader.pages):
        at_work()
        try:
            text = no_heading(page.extract_text())
        except MemoryError:
            raise
        except Exception:  # Keep the other pages.
            text, failed = "", failed + 1
        pages.append(_with_headings(text, titles.get(number, ())))
        length += len(pages[-1])
        if length > _MOST_CHARACTERS:
            raise NoDocument("too large when unpacked")
    empty = sum(not text.strip() for text in pages) - failed
    if empty + failed == len(pages):
        raise NoDocument("PDF without text: scanned pages need OCR first" if empty else "damaged PDF")
    remarks = {
        "pages of PDF files without text (scans need OCR first)": empty,
        "pages of PDF files that could not be read": failed,
    }
    return ReadText(
        f"\n{PAGE_BREAK}".join(pages),
        title=_title(reader),
        remarks={what: count for what, count in remarks.items() if count},
    )


def _title(reader: PdfReader) -> str:
    """The title in the metadata, unless it looks generated."""
    try:
        title = (reader.metadata.title if reader.metadata else "") or ""
    except Exception:  # Invalid metadata; a document does not need them.
        return ""
    title = title.strip()
    is_one = 4 <= len(title) <= 300 and any(map(str.isalpha, title)) and not _OF_A_PROGRAM.search(title)
    return title if is_one else ""


def _outline(reader: PdfReader) -> dict[int, list[tuple[int, str]]]:
    """(level, title) of the outline entries that start on a page, by page from 0."""
    found: dict[int, list[tuple[int, str]]] = {}
    try:
        for level, item in _flat(reader.outline, 1):
            page = reader.get_destination_page_number(item)
            if page is not None and page >= 0 and item.title:
                found.setdefault(page, []).append((level, " ".join(str(item.title).split())))
    except MemoryError:
        raise
    except Exception:  # The outline is optional, so a damaged one is ignored.
        return {}
    return found


def _flat(items: Iterable[Any], level: int) -> Iterator[tuple[int, Any]]:
    for item in items:
        if isinstance(item, list):
            yield from _flat(item, level + 1)
        else:
            yield level, item


def _with_headings(text: str, titles: Iterable[tuple[int, str]]) -> str:
    """The text with lines that match an outline entry marked as headings; unmatched entries are ignored."""
    lines = text.split("\n")
    begin = 0
    for level, title in titles:
        for place in range(begin, len(lines)):
            if lines[place].strip() and _ways_to_write(lines[place]) & _ways_to_write(title):
                lines[place] = heading(level, lines[place])
                begin = place + 1
                break
    return "\n".join(lines)


def _ways_to_write(title: str) -> set[str]:
    """The title with and without its number, in lower case without white space."""
    return {"".join(form.split()).casefold() for form in (title, _NUMBER.sub("", title.strip()))}
