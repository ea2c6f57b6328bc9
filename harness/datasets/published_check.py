"""Checks whether rows are those published under a data set's name, wherever they came from.

It compares the content of the rows, not file bytes: compressed or not, from the data directory or the hub, in any
order of fields. Results on other rows are not comparable with published figures.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from harness.core.hashing import digest
from harness.datasets.local_files import data_dir, find
from harness.datasets.row_fields import FileEntry


@dataclass(frozen=True)
class PublishedRows:
    """A file of a data set as published, or the sample of it that was drawn for this harness."""

    source: str
    """Origin with commit and name."""
    n_rows: int
    content: str
    """`content_digest` of the rows."""
    url: str = ""
    """Download URL of the file; empty: none."""
    on_hub: bool = False
    """Whether the hub table has exactly these rows; otherwise its expected rows are unknown."""


_MULTIHOP = "yixuantt/MultiHop-RAG @ 3dd4d4e79fc9"
_UDA = "qinchuanhui/UDA-Benchmark @ fca5237ac316"
_UDA_FILES = (
    "https://raw.githubusercontent.com/qinchuanhui/UDA-Benchmark/026d17457b4ba59b9117f990aa926292b2b28f1c/dataset"
)
_FETAQA = "Yale-LILY/FeTaQA @ bbc441be8072"
_GRAPHRAG = "GraphRAG-Benchmark @ ed9266f, Datasets"
_WIKI = "a part of the rows of"
_MS_MARCO = "a part of microsoft/ms_marco, train split,"
PUBLISHED: Mapping[str, PublishedRows] = {
    "multihop_rag/corpus.json": PublishedRows(
        _MULTIHOP, 609, "a20cb31f011d4406ba5902d8745b410b2da112e6d7f9fa07e0e59d3f389ea351", on_hub=True
    ),
    "multihop_rag/MultiHopRAG.json": PublishedRows(
        _MULTIHOP, 2556, "d100b3672552da0d9c2bc43f720d250e7a2df5f5eadd563ab6ef098a24c4de21", on_hub=True
    ),
    "uda_qa/nq_qa.csv": PublishedRows(
        _UDA,
        2477,
        "b533242eb687bbdf99877bd0feac6119a5ee1f187e0fc556b95e19d4e702b3cd",
        url=f"{_UDA_FILES}/qa/nq_qa.csv",
    ),
    "uda_qa/feta_qa.csv": PublishedRows(
        _UDA,
        1023,
        "4d48861c674a915fdb141f4236fe8dab70b49dc5247aa46f6e7b23adf0cf1ed0",
        url=f"{_UDA_FILES}/qa/feta_qa.csv",
    ),
    "uda_qa/bench_feta_qa.json": PublishedRows(
        _UDA,
        1,
        "60d24e4729e932905847baecfca91432286e1b8d52ebd2265b78e88f0a2c5834",
        url=f"{_UDA_FILES}/extended_qa_info_bench/bench_feta_qa.json",
    ),
    "uda_qa/fetaqa-v1_test.jsonl": PublishedRows(
        _FETAQA, 2003, "72c9c9caf4f10ebad8bbfa14b761922cc6bd903d9ba849f7fede87274875a5ae"
    ),
    "uda_qa/fetaqa-v1_dev.jsonl": PublishedRows(
        _FETAQA, 1001, "585164bd6f3849c613c4c52a75fa6b8776cc9557bff0d529f4c25e38dfa5b560"
    ),
    "ms_marco/ms_marco_v1.1_train_sample200.json": PublishedRows(
        f"{_MS_MARCO} v1.1", 200, "27e4616d4318a62785549c509714bc7feada8b36a65586bddd57c30191fe01f6"
    ),
    "ms_marco/ms_marco_v2.1_train_head500.json": PublishedRows(
        f"{_MS_MARCO} v2.1", 500, "1223e636b6b7c66a213360c5175f71a56f33f4f75ea0a07ca6dbe9cb72ce8947"
    ),
    "neural_bridge/rag_dataset_12000_train_head100.jsonl": PublishedRows(
        "the first rows of neural-bridge/rag-dataset-12000, train split",
        100,
        "edd39618c4a70ba630521f9a34143008db6d8c42056005dcc9ee6090f1ce9468",
    ),
    "multihop_wiki/hotpotqa_200.jsonl": PublishedRows(
        f"{_WIKI} HotpotQA dev, distractor",
        200,
        "8833a837c26decbde5a061a0391065659ba4db51757b6c0546b6d5aad1b75b1b",
    ),
    "multihop_wiki/hotpotqa_train_100.json": PublishedRows(
        f"{_WIKI} HotpotQA train", 100, "fec889edfce6f5f1db60cbae8b30562ef02a91a08a37dd5443610709c1609b80"
    ),
    "multihop_wiki/2wikimultihopqa_164.jsonl": PublishedRows(
        f"{_WIKI} 2WikiMultihopQA dev", 164, "820fcd282a576df880537bad566a3eaf069caf235b5168fb42bfe9fdae06d462"
    ),
    "multihop_wiki/musique_200.jsonl": PublishedRows(
        f"{_WIKI} MuSiQue-Ans dev", 200, "d0b63c52f1561e625fce4de7e1548c782cc419e3e86df918ef03217e36a98872"
    ),
    "multihop_wiki/musique_train_100.json": PublishedRows(
        f"{_WIKI} MuSiQue-Ans train", 100, "2c11562d6273cb776f4e27f2877044e8afd986b581f58fb001751aa53d871c37"
    ),
    "graphrag_bench/medical_questions.json": PublishedRows(
        _GRAPHRAG, 2062, "a85d69ab15b48e82ebf48af4a7afeea755d6fe37ddfc220c8498d23bd51bdb10"
    ),
    "graphrag_bench/medical.json": PublishedRows(
        _GRAPHRAG, 1, "ec81ac4ee88fff27489df7fa335a56127fc87a01eae4309477ac1d7ae40af4f5"
    ),
    "graphrag_bench/novel.parquet": PublishedRows(
        _GRAPHRAG, 20, "1341ba9cd8fce62c433284bb83e841c688557956076c8ff486507175d1b16987"
    ),
    "graphrag_bench/novel_questions.json": PublishedRows(
        _GRAPHRAG, 2010, "f6fe3d915e4e7fdef737479b4fd25a491f096265422af5d18fa5f526ec6630ec"
    ),
}
"""By path in the data directory."""


def departures(rows: Mapping[str, Sequence[FileEntry]]) -> tuple[str, ...]:
    """One line for each file whose rows are not the published ones, where those are known. `rows`: by path in the
    data directory. Rows from the hub are checked only if the expected rows of the hub table are known.
    """
    lines = []
    for place, found in rows.items():
        known = PUBLISHED.get(place)
        if known is None or (not known.on_hub and find(place) is None):
            continue
        own = content_digest(found)
        if own != known.content:
            lines.append(
                f"{place} differs from the published file, so results are not comparable with published figures: "
                f"{len(found):,} rows, content {own[:12]}, instead of {known.n_rows:,}, content "
                f"{known.content[:12]} ({known.source})"
            )
    return tuple(lines)


def fetched_by_hand(*places: str) -> str:
    """The command that downloads these files to their place; empty if none can be downloaded alone."""
    known = [(place, PUBLISHED[place].url) for place in places if place in PUBLISHED and PUBLISHED[place].url]
    parts = [f"-o {shlex.quote(str(data_dir() / place))} {url}" for place, url in known]
    return f"curl -fL --create-dirs {' '.join(parts)}" if parts else ""


def content_digest(rows: Iterable[FileEntry]) -> str:
    """SHA-256 of the content of rows, 64 hex digits. An empty field equals a missing one, and a number equals its
    digits as text, because CSV, JSON and hub tables write them differently.
    """
    return digest([_plain(row.fields) for row in rows])


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        plain = {str(name): _plain(held) for name, held in value.items()}
        return {name: held for name, held in plain.items() if held not in ("", [], {})}
    if isinstance(value, list | tuple):
        return [_plain(held) for held in value]
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    return "" if value is None else str(value).replace("\r", "")
