"""Data sets in BEIR format (Thakur et al. 2021): a folder with corpus.jsonl, queries.jsonl and qrels/*.tsv."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

from harness.core.bounded_files import open_plain
from harness.core.errors import DataError
from harness.core.records import Document
from harness.datasets.decompression_limits import read_intact
from harness.datasets.folder.file_listing import check_folder
from harness.datasets.json_rows import parse_json
from harness.datasets.judged.collection import PRIMARY_MEASURE, CollectionParams, JudgedPair, build
from harness.datasets.local_files import find_in
from harness.datasets.row_fields import FIX, FileEntry, as_entry
from harness.protocols import DatasetSpec, RawDataset, ReadingProgress

CORPUS, QUERIES = "corpus.jsonl", "queries.jsonl"
_LONGEST_LINE = 16_000_000
_SHAPE = f"a BEIR folder contains {CORPUS}, {QUERIES} and qrels/test.tsv, each plain or .gz"


class BeirParams(CollectionParams):
    """The folder, and the number of distractors."""

    path: Path


def load(subset: str, params: BeirParams, _progress: ReadingProgress) -> RawDataset:
    """Load the queries judged in qrels/`subset`.tsv, with the whole corpus or a part of it."""
    check_folder(params.path)
    qrels = find_in(params.path, f"qrels/{subset}.tsv")
    if qrels is None:
        there = [name for name in SPEC.subsets if find_in(params.path, f"qrels/{name}.tsv")]
        fix = f"choose --set dataset.subset={there[0]}" if there else _SHAPE
        raise DataError(f"{params.path} has no qrels/{subset}.tsv", fix)
    judgements = list(_judgements(qrels))
    judged = {one.query_id for one in judgements}
    asked = ((entry.identifier("_id"), entry) for entry in _entries(params.path, QUERIES))
    texts = {query_id: entry.text("text", blank=True) for query_id, entry in asked if query_id in judged}
    documents = map(_document, _entries(params.path, CORPUS))
    return build(params.path.resolve().name, texts, judgements, documents, params)


def is_beir(folder: Path) -> bool:
    return bool(find_in(folder, CORPUS) and find_in(folder, QUERIES)) and (folder / "qrels").is_dir()


def _entries(folder: Path, name: str) -> Iterator[FileEntry]:
    path = find_in(folder, name)
    if path is None:
        raise DataError(f"{folder} has no {name}", _SHAPE)
    for number, line in _lines(path):
        yield as_entry(f"{path} line {number}", parse_json(path, line, number))


def _judgements(path: Path) -> Iterator[JudgedPair]:
    for number, line in _lines(path):
        cells = line.rstrip("\r\n").split("\t")
        score = cells[2].strip() if len(cells) == 3 else ""
        if score.lstrip("-").isdecimal():
            yield JudgedPair(cells[0], cells[1], int(score))
        elif number > 1 or len(cells) != 3:
            fix = "write query id, document id and a whole number, separated by tabs"
            raise DataError(f"{path} line {number} is not a judgement", fix)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Number and text of each non-blank line, one at a time, because a corpus may exceed memory."""
    number = 0
    try:
        with read_intact(path), open_plain(path) as file:
            lines = gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file
            while line := lines.readline(_LONGEST_LINE + 1):
                number += 1
                if len(line) > _LONGEST_LINE:
                    raise DataError(f"{path} line {number} is longer than {_LONGEST_LINE:,} bytes", FIX)
                if line.strip():
                    yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} line {number} is not UTF-8", FIX) from error


def _document(entry: FileEntry) -> Document:
    title, text = entry.optional_text("title"), entry.text("text", blank=True)
    return Document(doc_id=entry.identifier("_id"), text=text if text.strip() else title, title=title)


SPEC = DatasetSpec(
    name="beir",
    summary="a folder in BEIR format (relevance judgements, no answers): -d beir --docs FOLDER",
    load=load,
    subsets=("test", "dev", "train"),
    params=BeirParams,
    primary_measure=PRIMARY_MEASURE,
)
