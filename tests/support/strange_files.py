"""Answer files and data set files with strange rows, each with its reader."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st
from strange import rows, wrong_with

from harness.core.errors import HarnessError
from harness.datasets import QuerySample, load_dataset, ms_marco, multihop_rag, rag_12000, uda_qa
from harness.datasets.local_files import ENV
from harness.protocols import DatasetSpec
from harness.runner.importing.answer_file import read_file

Kind = tuple[st.SearchStrategy[Any], Callable[[Any], str]]
ANSWER = {
    "query": "Who?", "query_id": 3, "answer": "I.", "error": None, "contexts": [{"text": "t",
    "doc_ids": ["d"], "score": 1.5}],
    "input_tokens": 5, "output_tokens": 2.0, "cached_tokens": 0, "model_calls": 1, "latency_s": 0.5, "repeat": 0,
    "started_at": "2026-11-20T12:00:00+02:00",
}  # fmt: skip
_PASSAGES = {"passage_text": ["p", "q"], "url": ["u", "v"], "is_selected": [0, 1]}
_FACTS = [{"url": "u", "fact": "f"}]
_ARTICLE = {"url": "u", "body": "f and more", "title": "t", "published_at": "2023-10-01", "source": "s"}
_QUERY = {"query": "q", "answer": "a", "question_type": "inference_query", "evidence_list": _FACTS}
_TEXTS = {"context": "c", "question": "q", "answer": "a"}
_MARCO = {
    **{"query_id": 7, "query": "q", "query_type": "NUMERIC", "answers": ["a"], "wellFormedAnswers": "[]"},
    "passages": _PASSAGES,
}
_CSV = ["doc_name", "q_uid", "question", "short_answer", "long_answer", "doc_url"]


def kinds(folder: Path) -> dict[str, Kind]:
    """Name -> (files as texts, the fault in how such a file is read)."""
    folder.mkdir()
    several = st.lists(rows(ANSWER), min_size=1, max_size=3).map("\n".join)
    found: dict[str, Kind] = {"answers": (several, lambda text: wrong_with(lambda: _imported(folder, text)))}
    array = "[{}]".format
    for spec, subset, name, file in (
        (rag_12000.SPEC, "train", "neural_bridge/rag_dataset_12000_train_head100.jsonl", rows(_TEXTS)),
        (ms_marco.SPEC, "v1.1", "ms_marco/ms_marco_v1.1_train_sample200.json", rows(_MARCO).map(array)),
        (multihop_rag.SPEC, "default", "multihop_rag/corpus.json", rows(_ARTICLE).map(array)),
        (multihop_rag.SPEC, "default", "multihop_rag/MultiHopRAG.json", rows(_QUERY).map(array)),
        (uda_qa.SPEC, "nq", "uda_qa/nq_qa.csv", _csv()),
    ):
        found[name] = (file, _reading(folder, spec, subset, name))
    return found


def _csv() -> st.SearchStrategy[str]:
    cell = st.text(max_size=12) | st.sampled_from(["", '"', '"a|b"', "\r", "\x00", "9" * 200_000, "\ud800"])
    line = st.lists(cell, min_size=6, max_size=6).map("|".join) | st.text(max_size=30)
    return st.lists(line, max_size=3).map(lambda lines: "\n".join(["|".join(_CSV), *lines]))


def _imported(folder: Path, text: str) -> str:
    path = folder / "answers.jsonl"
    path.write_bytes(text.encode(errors="surrogatepass"))
    try:
        for row in read_file(path, fields={}, where={}).rows:
            row.model_dump_json()
    except HarnessError as error:
        return _wrong_with_line(error)
    return ""


def _reading(folder: Path, spec: DatasetSpec, subset: str, name: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        _write(folder / "multihop_rag/corpus.json", '[{"url": "u", "body": "f and more"}]')
        _write(folder / "multihop_rag/MultiHopRAG.json", "[]")
        _write(folder / name, text)
        try:
            with patch.dict("os.environ", {ENV: str(folder), "HF_HUB_OFFLINE": "1"}):
                data = load_dataset(spec, subset=subset, sample=QuerySample(1, 0))
            for one in (*data.documents, *data.queries, *data.references):
                one.model_dump_json()
        except HarnessError as error:
            return _wrong_with_line(error)
        return ""

    return lambda text: wrong_with(lambda: read(text))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode(errors="surrogatepass"))


def _wrong_with_line(error: HarnessError) -> str:
    line = str(error)
    return "" if len(line) < 4000 and line.isprintable() else f"no line: {line[:300]!r}"
