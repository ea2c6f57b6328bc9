"""Documents that questions are written about: their dates, and their text in verbatim excerpts and sentences."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from harness.core.errors import ConfigError
from harness.core.languages import first_date
from harness.core.records import Document
from harness.core.scripts import SENTENCE_MARK_END
from harness.datasets.folder import read_folder
from harness.display.csv_sheets import sheet_text
from harness.extraction.text_windows import windows_of
from harness.protocols import ReadingProgress
from harness.registry import DATASETS
from harness.store.atomic_files import write_atomic

_KEYS = ("published_at", "date", "published", "created", "created_at")
"""Metadata keys; the first one that holds a date counts."""
_BEGINNING = 600
"""Characters from the beginning in which a date is the document's own, as in letters."""

LONGEST_EXCERPT = 1_500
"""Characters of the excerpt for one question: what a small model reads closely."""
_LONGEST_QUOTE = 400
"""Characters; longer quotes do not fit into a chunk."""
_BLOCK = 100_000
_SHORTEST_QUOTE = 20
"""Bytes in UTF-8: scripts without spaces say in 7 characters what English says in 20."""
_USUAL_QUOTE = 40
"""Fewest characters of a quote of a template."""
_MOST_LINES, _FULL_LINE = 4, 40
"""Lines of a quote of a template, and the fewest characters of those that continue on the next line."""
_SENTENCE_ENDS = re.compile(r"[.!?\u3002\uff01\uff1f\u061f\u0964][\"')\]\u201d\u2019]*\s*$")
_MAIL_HEADER = re.compile(
    r"\s*(?:from|to|cc|bcc|subject|date|sent|reply-to|von|an|betreff|gesendet|de|para|asunto|objet)\s?: ",
    re.IGNORECASE,
)
_ABBREVIATED = (
    r"(?<!\b[A-Z]\.)(?<!\b(?:Mr|Ms|Dr|St|vs|No|Jr|Sr|Co)\.)(?<!\b(?:Mrs|Inc|Ltd|etc)\.)(?<!\bProf\.)"
    r"(?<!\b(?:e\.g|i\.e)\.)"
)
_SENTENCE_END = re.compile(
    rf"(?<=[.!?]){_ABBREVIATED}\s+(?![a-z])|(?<=[.!?][\"')\]\u201d\u2019])\s+|{SENTENCE_MARK_END}"
)
_ROW = re.compile(r"[^:;\n]{1,60}: [^;\n]*(?:; [^:;\n]{1,60}: [^;\n]*)+$", re.MULTILINE)
"""A row of a sheet: `item: locker; price: 4`."""
_ITEM = re.compile(rf"\s*(?:[-*+>|#\u2022]|\d{{1,3}}[.)] )|{_ROW.pattern}", re.MULTILINE)
"""The start of a list item, a table row or a heading; or a row of a sheet."""


def read_documents(
    folder: Path | None,
    progress: ReadingProgress,
    *,
    dataset: str | None = None,
    subset: str | None = None,
    include: Sequence[str] = (),
) -> tuple[Sequence[Document], tuple[str, ...]]:
    """The documents, and notes on skipped files. ConfigError: both or neither are named. DataError: none found."""
    if (folder is None) == (dataset is None):
        fix = "a folder (rag-harness questions papers), or --dataset NAME for the documents of a data set"
        raise ConfigError("name the documents exactly once", fix)
    if folder is not None:
        corpus = read_folder(folder, progress, tuple(include))
        return corpus.documents, corpus.notes
    spec = DATASETS.load(str(dataset))
    return spec.read(subset or spec.subsets[0], progress=progress).documents, ()


def check_out(out: Path, folder: Path | None) -> None:
    """Raise ConfigError if the question file could not be read as one, or would be one of the documents."""
    if out.suffix != ".jsonl":
        fix = "name it with .jsonl; `rag-harness review FILE --to-csv SHEET` makes a sheet of it"
        raise ConfigError(f"{out}: a question file is written as JSON Lines", fix)
    if folder is not None:
        _refuse_inside(out, folder)


def _refuse_inside(path: Path, folder: Path) -> None:
    if path.resolve().is_relative_to(folder.resolve()):
        raise ConfigError(f"{path} lies in {folder}, where it would be read as a document", "name it elsewhere")


def write_template(path: Path, folder: Path, documents: Sequence[Document], *, n: int, seed: int) -> int:
    """Write a sheet with up to `n` quotes, spread over the documents, to write questions beside; returns the
    number of rows. ConfigError: the file exists, is no .csv or lies among the documents.
    """
    if path.suffix != ".csv":
        raise ConfigError(f"{path}: a template is a sheet", "name it with .csv")
    _refuse_inside(path, folder)
    if path.exists():
        raise ConfigError(f"{path} exists", "name another file, or remove it")
    random = Random(seed)  # noqa: S311 - a sample, no secret
    left, known = dict[int, list[str]](), set[str]()
    for place in sorted(_spread(documents, n, random)):
        # Copies of a file have the same quotes: one of them is enough.
        left[place] = [one for one in _template_quotes(documents[place], random) if one not in known]
        known.update(left[place])
    rows: list[dict[str, str]] = []
    while len(rows) < n and any(left.values()):
        with_quotes = [place for place, quotes in left.items() if quotes][: n - len(rows)]
        rows += [{"quote": left[place].pop(), "document": documents[place].doc_id} for place in with_quotes]
    if not rows:
        raise ConfigError(f"{folder}: no sentence is long enough to ask about", "name a folder with texts")
    write_atomic(path, sheet_text(("question", "answers", "quote", "document"), rows))
    return len(rows)


def _spread(documents: Sequence[Document], n: int, random: Random) -> list[int]:
    """The places of up to `n` documents, one of each kind of file first. Of documents with the same text one, and
    only after all others: retrieving the other does not count.
    """
    places: dict[str, list[int]] = {}
    for place, document in enumerate(documents):
        places.setdefault(document.text, []).append(place)
    order = random.sample([same[0] for same in places.values()], len(places))
    order.sort(key=lambda place: len(places[documents[place].text]) > 1)
    first: dict[str, int] = {}
    for place in order:
        first.setdefault(Path(documents[place].doc_id.partition("#")[0]).suffix.lower(), place)
    return list(dict.fromkeys([*first.values(), *order]))[:n]


def _template_quotes(document: Document, random: Random) -> list[str]:
    """Its sentences and rows of tables in random order; other lines only if it has none of them."""
    passages = passages_of(document.text)
    sentences = [one for part in random.sample(passages, min(20, len(passages))) for one in sentences_of(part)]
    usual = [one for one in dict.fromkeys(sentences) if len(one) >= _USUAL_QUOTE and _is_prose(one)]
    whole = [one for one in usual if is_table_row(one) or _SENTENCE_ENDS.search(one)] or usual
    return random.sample(whole, len(whole))


def _is_prose(quote: str) -> bool:
    """Not a header of a mail, nor a block of short lines such as an address."""
    *full, _ = quote.splitlines()
    return (
        not _MAIL_HEADER.match(quote) and len(full) < _MOST_LINES and all(len(one) >= _FULL_LINE for one in full)
    )


def date_of(document: Document) -> str:
    """ISO 8601 date from the metadata, else the first date at the beginning of the text; empty: none."""
    given = (document.metadata.get(key, "") for key in _KEYS)
    found = (first_date(text) for text in (*given, document.text[:_BEGINNING]))
    return next((day.isoformat() for day in found if day is not None), "")


def passages_of(text: str, longest: int = LONGEST_EXCERPT) -> list[str]:
    """The text in parts of at most `longest` characters, each verbatim; only white space is dropped."""
    return [passage for block in _blocks(text) for passage in windows_of(block, longest)]


def _blocks(text: str) -> Iterator[str]:
    """The text cut at line ends or spaces, because cutting windows off one long text copies the text each time."""
    start = 0
    while start < len(text):
        end = start + _BLOCK
        cuts = (text.rfind(mark, end - _BLOCK // 2, end) + 1 for mark in "\n ") if end < len(text) else ()
        end = next(filter(None, cuts), end)
        yield text[start:end]
        start = end


def sentences_of(passage: str) -> tuple[str, ...]:
    """The sentences and lines long enough to be quoted, in order, without headings; long ones are cut."""
    sentences = (sentence for unit in _units(passage) for sentence in _SENTENCE_END.split(unit))
    parts = (part for sentence in sentences for part in windows_of(sentence, _LONGEST_QUOTE))
    texts = (part for part in parts if not part.startswith("#") and any(map(str.isalpha, part)))
    return tuple(text for text in texts if len(text.encode(errors="replace")) >= _SHORTEST_QUOTE)


def _units(passage: str) -> Iterator[str]:
    """Paragraphs, items and headings, with continuation lines: in a PDF each line ends where it is full."""
    unit, is_whole = "", False
    for line in passage.splitlines(keepends=True):
        if unit and (is_whole or not line.strip() or _ITEM.match(line) or _is_next_row(unit, line)):
            yield unit
            unit = ""
        unit += line
        is_whole = line.startswith(("#", "|")) or line.endswith("\f") or not line.strip()
    yield unit


def _is_next_row(row: str, line: str) -> bool:
    """Whether a line is a row with a single field, one that the row before it has."""
    return bool(_ROW.match(row)) and line.partition(": ")[0] in {
        cell.partition(": ")[0] for cell in row.split("; ")
    }


def is_table_row(text: str) -> bool:
    """Whether a quote is a row of a sheet or of a table in Markdown."""
    return bool(_ROW.match(text)) or text.lstrip().startswith("|")
