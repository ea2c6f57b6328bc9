"""UDA-QA (Hui et al. 2024): Wikipedia questions on prose (nq) and on tables (feta).

The corpus is built without the 1.6 GB of source pages: a document contains the gold passages or tables of a page,
and the full page if its text is in `uda_qa/docs_text/`. NQ texts stay tokenised (spaces around punctuation,
doubled back-ticks), so that every fact is a literal part of its document.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.core.errors import DataError
from harness.core.records import Document, Evidence
from harness.datasets import local_files
from harness.datasets.folder.text_cleanup import row_text
from harness.datasets.hub_rows import HubTable, load_rows
from harness.datasets.published_check import departures, fetched_by_hand
from harness.datasets.row_fields import FIX, FileEntry, dataset_row
from harness.protocols import DatasetRow, DatasetSpec, RawDataset

FETAQA_FILES = ("uda_qa/fetaqa-v1_test.jsonl", "uda_qa/fetaqa-v1_dev.jsonl")
BENCH_FILE = "uda_qa/bench_feta_qa.json"
TABLE_FILES = (*FETAQA_FILES, BENCH_FILE)


@dataclass(frozen=True)
class GoldTable:
    """The Wikipedia table of a question; its first row is the header."""

    title: str
    section: str
    rows: tuple[tuple[str, ...], ...]
    highlighted: tuple[int, ...]
    """The rows with highlighted cells, in table order."""

    def line(self, row: int) -> str:
        return row_text(self.rows[0], self.rows[row])

    def text(self) -> str:
        """Title, section and all rows below the header, one per line."""
        lines = [self.title, self.section, *map(self.line, range(1, len(self.rows)))]
        return "\n".join(filter(None, lines))

    def facts(self) -> tuple[str, ...]:
        """The highlighted rows as lines of the text, without the header, which is part of each line."""
        return tuple(dict.fromkeys(filter(None, (self.line(row) for row in self.highlighted if row > 0))))


def read_table_files() -> dict[str, list[FileEntry]]:
    """The rows of every table file in the data directory, by path. DataError if there is no such file."""
    found: dict[str, list[FileEntry]] = {}
    for name in TABLE_FILES:
        if path := local_files.find(name):
            found[name] = local_files.read_rows(path)
    if not found:
        what = f"the tables of the feta questions are missing in {local_files.data_dir()} (the hub has none)"
        ways = f"put {' or '.join(TABLE_FILES)} there, or choose the subset nq"
        raise DataError(what, f"{ways}, or run: {fetched_by_hand(BENCH_FILE)}")
    return found


def gold_tables(sources: Mapping[str, Sequence[FileEntry]]) -> dict[str, GoldTable]:
    """The gold tables by q_uid. If there are two sources, FeTaQA's own row wins, because it has the section."""
    tables: dict[str, GoldTable] = {}
    for name, rows in sources.items():
        if name == BENCH_FILE:
            pages = ((title, entry) for page in rows for title in page.fields for entry in page.entries(title))
            for title, entry in pages:
                tables.setdefault(entry.identifier("q_uid"), _gold(entry.entry("evidence"), title, ""))
        else:
            for entry in rows:
                title, section = entry.text("table_page_title"), entry.nullable_text("table_section_title")
                tables.setdefault(entry.identifier("feta_id"), _gold(entry, title, section))
    return tables


def _gold(entry: FileEntry, title: str, section: str) -> GoldTable:
    rows = []
    for cells in entry.values("table_array"):
        if not isinstance(cells, list) or not all(isinstance(cell, str) for cell in cells):
            raise DataError(f"{entry.where}: field 'table_array' must be a list of lists of texts", FIX)
        # A line break in a cell would split the row's line.
        rows.append(tuple(" ".join(cell.split()) for cell in cells))
    if not rows:
        raise DataError(f"{entry.where}: field 'table_array' is empty", FIX)
    numbers = set()
    for cell in entry.values("highlighted_cell_ids"):
        row = cell[0] if isinstance(cell, list) and cell else None
        if not isinstance(row, int) or not 0 <= row < len(rows):
            raise DataError(f"{entry.where}: field 'highlighted_cell_ids' points outside the table", FIX)
        numbers.add(row)
    return GoldTable(title, section, tuple(rows), tuple(sorted(numbers)))


_NQ_FILE, _FETA_FILE = "uda_qa/nq_qa.csv", "uda_qa/feta_qa.csv"


def load(subset: str) -> RawDataset:
    """Load the questions of `nq`, of `feta`, or of both (`all`), with a corpus of their pages."""
    parts = [make() for name, make in (("nq", _load_nq), ("feta", _load_feta)) if subset in ("all", name)]
    return RawDataset(
        documents=tuple(document for part in parts for document in part.documents),
        rows=tuple(row for part in parts for row in part.rows),
        notes=tuple(note for part in parts for note in part.notes),
        departures=tuple(line for part in parts for line in part.departures),
    )


def build_nq(entries: Sequence[FileEntry], pages: Mapping[str, str]) -> RawDataset:
    """Build a data set from NQ rows: one document per page name, because a page has many revisions (URLs), with
    its distinct gold passages in file order, then the full page from `pages`.
    """
    passages: dict[str, dict[str, None]] = {}
    urls: dict[str, str] = {}
    rows = []
    for entry in entries:
        name, passage = entry.text("doc_name"), entry.text("long_answer")
        passages.setdefault(name, {})[passage] = None
        urls.setdefault(name, _clean_url(entry.text("doc_url")))
        answers = dict.fromkeys(text for text in (entry.nullable_text("short_answer"), passage) if text.strip())
        evidence = (Evidence(doc_id=f"nq:{name}", fact=passage),)
        rows.append(_row(entry, "nq", tuple(answers), evidence))
    documents = tuple(
        _document("nq", name, [*found, pages.get(name, "")], urls[name]) for name, found in passages.items()
    )
    notes = (
        _easier("nq", "passages", passages.keys() & pages.keys(), len(documents)),
        "nq: texts are tokenised Natural Questions text, as published",
    )
    return RawDataset(documents=documents, rows=tuple(rows), notes=notes)


def build_feta(
    entries: Sequence[FileEntry], tables: Mapping[str, GoldTable], pages: Mapping[str, str]
) -> RawDataset:
    """Build a data set from feta rows: one document per page name, with its tables as lines, then the full page.
    Questions whose gold table is not in `tables` are left out, with a note.
    """
    found: dict[str, dict[tuple[tuple[str, ...], ...], GoldTable]] = {}
    urls: dict[str, str] = {}
    rows = []
    for entry in entries:
        name = entry.text("doc_name")
        urls.setdefault(name, _clean_url(entry.text("doc_url")))
        own = found.setdefault(name, {})
        gold = tables.get(entry.identifier("q_uid"))
        if gold is None:
            continue
        known = own.setdefault(gold.rows, gold)
        if gold.section and not known.section:
            own[gold.rows] = gold
        evidence = tuple(Evidence(doc_id=f"feta:{name}", fact=fact) for fact in gold.facts())
        rows.append(_row(entry, "feta", (entry.text("answer"),), evidence))
    documents = {}
    for name, own in found.items():
        texts = [*(gold.text() for gold in own.values()), pages.get(name, "")]
        if any(texts):
            documents[name] = _document("feta", name, texts, urls[name])
    notes = [_easier("feta", "tables", documents.keys() & pages.keys(), len(documents))]
    if left_out := len(entries) - len(rows):
        of = f"{left_out:,} of {len(entries):,} questions"
        notes.append(f"feta: {of} left out: their gold table is missing in the data directory")
    return RawDataset(documents=tuple(documents.values()), rows=tuple(rows), notes=tuple(notes))


def _easier(subset: str, gold: str, paged: Collection[str], n_documents: int) -> str:
    return (
        f"{subset}: each document begins with its gold {gold}, and the full page follows in {len(paged):,} of "
        f"{n_documents:,}, so retrieval is easier than over whole pages"
    )


def _clean_url(url: str) -> str:
    return re.sub(r"(?<!:)/{2,}", "/", html.unescape(url))


def _load_nq() -> RawDataset:
    found = load_rows(_NQ_FILE, HubTable("qinchuanhui/UDA-QA", "nq", "test"))
    return replace(build_nq(found.rows, _read_pages("nq")), departures=found.departures)


def _load_feta() -> RawDataset:
    # Not from the hub, whose feta rows come without tables.
    path = local_files.find(_FETA_FILE)
    if path is None:
        what = f"{_FETA_FILE} is missing in {local_files.data_dir()} (the hub has no feta tables)"
        by_hand = fetched_by_hand(_FETA_FILE, BENCH_FILE)
        fix = f"set {local_files.ENV} to a folder with it, or choose the subset nq, or run: {by_hand}"
        raise DataError(what, fix)
    rows, sources = local_files.read_rows(path), read_table_files()
    raw = build_feta(rows, gold_tables(sources), _read_pages("feta"))
    absent = [name for name in TABLE_FILES if name not in sources]
    notes = (f"feta: without {', '.join(absent)}, which are missing in the data directory",) if absent else ()
    read = {_FETA_FILE: rows, **sources}
    differing = tuple(line for name, own in read.items() for line in departures(name, own))
    return replace(raw, notes=raw.notes + notes, departures=differing)


def _read_pages(subset: str) -> dict[str, str]:
    """The full pages in the data directory by page name; there may be none."""
    # Listed, not looked up by name, so that a page name cannot point outside the folder. In reverse order, so that
    # a plain file overrides its .gz.
    listed = reversed(local_files.list_folder(f"uda_qa/docs_text/{subset}"))
    found = {file[1]: path for path in listed if (file := re.fullmatch(r"(.+)\.txt(\.gz)?", path.name))}
    return {name: local_files.read_page(found[name]).replace("\f", "\n").strip() for name in sorted(found)}


def _document(subset: str, name: str, parts: Sequence[str], url: str) -> Document:
    return Document(
        doc_id=f"{subset}:{name}",
        text="\n\n".join(part for part in parts if part),
        title=name,
        metadata={"source": "Wikipedia", "url": url},
    )


def _row(entry: FileEntry, subset: str, answers: tuple[str, ...], evidence: tuple[Evidence, ...]) -> DatasetRow:
    query_id = f"{subset}-{entry.identifier('q_uid')}"
    doc_ids = (f"{subset}:{entry.text('doc_name')}",)
    return dataset_row(query_id, entry.text("question").strip(), subset, answers, evidence, doc_ids)


SPEC = DatasetSpec(
    name="uda_qa",
    summary="UDA-QA on Wikipedia: questions on prose (nq) and on tables (feta)",
    load=load,
    # The subset on the hub comes first, so that it is the default without a data directory.
    subsets=("nq", "feta", "all"),
    primary_measure="token_f1",
    answer_style="sentence",
)
