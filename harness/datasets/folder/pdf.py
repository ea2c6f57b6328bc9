"""Reads PDF files: the text of each page, form values, page breaks, and headings from the outline."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from harness.core.page_and_section import PAGE_BREAK
from harness.datasets.folder.text_cleanup import (
    UNREADABLE,
    NoDocument,
    ReadText,
    heading,
    no_heading,
    plain,
)

if TYPE_CHECKING:
    from pypdf import PdfReader

_OF_A_PROGRAM = re.compile(
    r"^\(anonymous\)$|\.(docx?|pdf|dvi|tex|indd|qxd|rtf|odt|pptx?|xlsx?|fm)$|^microsoft |^untitled|^unknown", re.I
)
"""Titles that a program derived from a file name."""
_NUMBER = re.compile(r"^(\d+(\.\d+)*|[A-Z]|[IVXLC]+)[.)]?\s+")
_UNKNOWN = re.compile(rf"{UNREADABLE.pattern}|[\ue000-\uf8ff\U000f0000-\U0010ffff]")
_CONTROL = re.compile(r"[\x01-\x08\x0e-\x1f]")
"""Codes of glyphs without a letter."""
_BULLET = re.compile(r"(?m)^(\s*)[\uf000-\uf0ff](?=\s)")
_SOFT_SIGN = re.compile(r"(?<=\d)\u00ad|\u00ad(?=\d)")
_HIDDEN, _NO_VIEW = 1 << 1, 1 << 5
"""Flags of an annotation."""
_PASSWORD, _RADIO, _PUSH_BUTTON = 1 << 13, 1 << 15, 1 << 16
"""Flags of a field."""
_BAD_PAGES = "pages of PDF files that could not be read"


def read_pdf(file: BinaryIO, at_work: Callable[[], None]) -> ReadText:
    """The text of all pages. NoDocument: a password is needed, no page has text, or it is not a PDF."""
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
    if reader.root_object.get("/NeedsRendering"):
        raise NoDocument("PDF with a dynamic XFA form: print it to PDF first")
    titles = _outline(reader)
    pages: list[str] = []
    problems: Counter[str] = Counter()
    length = unmapped = 0
    for page in reader.pages:
        at_work()
        text = values = ""
        with _counted(problems, _BAD_PAGES):  # Keep the other pages.
            text, unknown = _text(page)
            unmapped += unknown
        with _counted(problems, "pages of PDF files with form fields that could not be read"):  # Keep the text.
            values = _form_values(page)
        pages.append(f"{text.rstrip()}\n\n{no_heading(values)}\n".lstrip() if values else text)
        length += len(pages[-1])
        if length > 50_000_000:
            raise NoDocument("too large when unpacked")
    failed = problems[_BAD_PAGES]
    empty = sum(not text.strip() for text in pages) - failed
    if empty + failed == len(pages):
        raise NoDocument("PDF without text: scanned pages need OCR first" if empty else "damaged PDF")
    if 2 * unmapped > sum(len("".join(text.split())) for text in pages):
        raise NoDocument("PDF whose fonts do not say which letters they show: needs OCR (ocrmypdf --force-ocr)")
    problems["pages of PDF files without text (scans need OCR first)"] = empty
    problems["glyphs of PDF files without a letter (OCR reads them: ocrmypdf --force-ocr)"] = unmapped
    pages = without_broken_words(pages)
    return ReadText(
        f"\n{PAGE_BREAK}".join(_with_headings(text, titles.get(number, ())) for number, text in enumerate(pages)),
        title=_title(reader),
        remarks={what: count for what, count in problems.items() if count},
    )


@contextmanager
def _counted(problems: Counter[str], what: str) -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise
    except Exception:
        problems[what] += 1


def _text(page: Any) -> tuple[str, int]:
    """The text of a page, and how many of its characters are not known."""
    unmapped = 0

    def count(text: str, _cm: Any, _tm: Any, font: Any, _size: Any) -> None:
        nonlocal unmapped
        # It numbers its glyphs without saying which letters they show.
        if font and str(font.get("/Encoding")).startswith("/Identity") and "/ToUnicode" not in font:
            unmapped += len("".join(text.split()))

    text = page.extract_text(visitor_text=count)
    text = _BULLET.sub("\\1\N{BULLET}", _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text))
    # Some fonts give their hyphen as a soft hyphen, which is never between digits.
    text = plain(_SOFT_SIGN.sub("-", text.replace("\u00ad\n", "-\n")))
    return no_heading(text), max(unmapped, len(_UNKNOWN.findall(text)))


def _form_values(page: Any) -> str:
    """A line for each filled-in field that is no password and not hidden, and typed notes."""
    lines: dict[str, None] = {}
    for reference in page.get("/Annots") or ():
        widget = reference.get_object()
        if "/F" in widget and int(widget["/F"]) & (_HIDDEN | _NO_VIEW):
            continue
        if widget.get("/Subtype") == "/FreeText":
            lines[_text_of(widget.get("/Contents"))] = None
        elif widget.get("/Subtype") == "/Widget":
            lines[_form_line(widget)] = None
    return "\n".join(filter(None, lines))


def _form_line(widget: Any) -> str:
    """`name: value`, or `[x] name` for a checked box."""
    chain = [widget]
    while len(chain) < 32 and (parent := chain[-1].get("/Parent")) is not None:
        chain.append(parent.get_object())

    def inherited(key: str) -> Any:
        return next((one[key] for one in chain if one.get(key) is not None), None)

    kind, flags = inherited("/FT"), int(inherited("/Ff") or 0)
    names = [_text_of(one.get("/T")) for one in reversed(chain)]
    name = _text_of(inherited("/TU")) or ".".join(filter(None, names))
    value = inherited("/V")
    if kind == "/Btn":
        state = str(widget.get("/AS") or value or "/Off").removeprefix("/")
        if flags & _PUSH_BUTTON or state == "Off":
            return ""
        return f"{name}: {state}" if flags & _RADIO else f"[x] {name}"
    if kind not in {"/Tx", "/Ch"} or (flags & _PASSWORD and kind == "/Tx"):
        return ""
    chosen = value if isinstance(value, list) else [value]
    # The text that is shown for each value of a list.
    pairs = [one.get_object() for one in inherited("/Opt") or ()] if kind == "/Ch" else []
    shown = {_text_of(one[0]): _text_of(one[1]) for one in pairs if isinstance(one, list) and len(one) == 2}
    said = ", ".join(filter(None, (shown.get(text, text) for text in map(_text_of, chosen))))
    return f"{name}: {said}" if said else ""


def _text_of(value: Any) -> str:
    """A string, or a stream that is one, as a text of one or more lines."""
    from pypdf.generic import create_string_object

    value = value.get_object() if hasattr(value, "get_object") else value
    if hasattr(value, "get_data"):
        value = str(create_string_object(value.get_data()))
    return plain(value).strip() if isinstance(value, str) else ""


def _title(reader: PdfReader) -> str:
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
        yield from _flat(item, level + 1) if isinstance(item, list) else [(level, item)]


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


_LETTERS = r"[^\W\d_]+"
_WORD = re.compile(rf"{_LETTERS}(?:-{_LETTERS})*")
_LEFT = re.compile(rf"(?:{_LETTERS}(?:-{_LETTERS})*|\d+)$")
_RIGHT = re.compile(rf"{_LETTERS}|\d+")
_NO_PROSE = re.compile(r"^\W?(?:--|/|www\.)|://|[@_\\]")
"""Begins or contains what only addresses, paths and options of commands do."""
_LONGEST = 100
"""Characters of each part; longer ones are no words."""
_AND = {"and", "or", "und", "oder", "bzw"}
"""Words that follow a first part such as `Vor-` in `Vor- und Nachteile`."""


def without_broken_words(pages: Sequence[str]) -> list[str]:
    """The pages with each broken word in one piece, on its first line.

    What the document writes elsewhere decides whether the hyphen stays. A word that is nowhere else keeps it if
    both parts are words of the document (`well-known`), or if most line ends with a hyphen are known compounds.
    """
    lines = [page.split("\n") for page in pages]
    breaks = [pair for own in lines for pair in map(_break, own, own[1:]) if pair]
    if not breaks:
        return list(pages)
    words: Counter[str] = Counter()
    for page in pages:
        words.update(_WORD.findall(page.casefold().replace("\u2010", "-")))
    words.subtract(part.casefold() for pair in breaks for part in pair)  # Parts of broken words are no words.
    kept = Counter(_keeps_hyphen(left, right, words) for left, right in breaks if right[0].islower())
    hyphenates = kept[True] < 2 or kept[True] <= kept[False]
    return ["\n".join(_joined(own, words, hyphenates=hyphenates)) for own in lines]


def _break(line: str, following: str) -> tuple[str, str] | None:
    """The two parts of a word or number that is broken between two lines."""
    line = line.rstrip()
    if not line.endswith(("-", "\u2010")):
        return None
    token = line[-_LONGEST:-1].split(" ")[-1]  # The pattern alone would try every word of the line.
    left, right = _LEFT.search(token), _RIGHT.match(following.lstrip()[:_LONGEST])
    if not left or not right:
        return None
    return token if _NO_PROSE.search(token) else left[0], right[0]


def _keeps_hyphen(left: str, right: str, words: Counter[str]) -> bool | None:
    """None: the document does not say."""
    if _NO_PROSE.search(left):
        return True
    joined, compound = words[f"{left}{right}".casefold()], words[f"{left}-{right}".casefold()]
    if joined > 0 or compound > 0:
        return compound > joined
    if not right[0].islower() or left.isdigit() or len(left) == 1:
        return True  # Names, numbers and single letters: Baden-Baden, COVID-19, 1939-1945, e-mail.
    return True if "-" in left or (words[left.casefold()] > 0 and words[right.casefold()] > 0) else None


def _joined(lines: Sequence[str], words: Counter[str], *, hyphenates: bool) -> list[str]:
    written: list[str] = []
    for line in lines:
        pair = _break(written[-1], line) if written else None
        if pair is None:
            written.append(line)
            continue
        left, right = pair
        keeps = _keeps_hyphen(left, right, words)
        first, _, rest = line.lstrip().partition(" ")
        before = written[-1].rstrip()
        if right in _AND and words[f"{left}{right}".casefold()] <= 0:
            before += " "
        elif not keeps and (keeps is False or hyphenates):
            before = before[:-1]
        written[-1] = before + first
        if rest.strip():
            written.append(rest.lstrip())
    return written
