"""GraphRAG-Bench and NQ-open."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import DataError
from harness.datasets import graphrag_bench, hub_rows, local_files, nq_open
from harness.datasets.graphrag_bench import SPEC, GraphRAGBenchParams
from harness.datasets.row_fields import FileEntry

QUESTION = {
    "id": "q",
    "source": "Novel-1",
    "question": "Who?",
    "answer": "Ann did.",
    "question_type": "Fact Retrieval",
}


def entries(*rows: dict[str, Any]) -> list[FileEntry]:
    return [FileEntry(f"f row {number}", row) for number, row in enumerate(rows, start=1)]


def test_one_novel_is_a_corpus_of_its_own(data_folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(local_files.ENV, str(data_folder))
        raw = SPEC.read("novel", GraphRAGBenchParams(source="Novel-44557"))
        with pytest.raises(DataError, match="Novel-44557"):
            SPEC.read("novel", GraphRAGBenchParams(source="Novel-44556"))
    assert (len(raw.documents), len(raw.rows)) == (1, 103)


def test_texts_and_questions_come_from_files_of_the_repository_on_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [{"corpus_name": f"Novel-{number}", "context": "Ann did it."} for number in (1, 2)]
    tables = {"Datasets/Questions/novel_questions.json": [QUESTION], "Datasets/Corpus/novel.json": texts}
    monkeypatch.setattr(hub_rows, "fetch", lambda table: tables[table.file])
    raw = SPEC.load("novel")
    assert [row.reference.evidence[0].doc_id for row in raw.rows] == ["Novel-1"]


@pytest.mark.parametrize("content", [{"corpus_name": "Novel-1", "context": "x"}, [], "x", [{"corpus_name": "N"}]])
def test_a_text_file_of_another_form_is_one_line(own_data: Path, content: object) -> None:
    (own_data / "graphrag_bench").mkdir()
    (own_data / "graphrag_bench" / "novel_questions.json").write_text(json.dumps([QUESTION]))
    (own_data / "graphrag_bench" / "novel.json").write_text(json.dumps(content))
    if isinstance(content, dict):
        assert len(SPEC.load("novel").documents) == 1, "one text alone, as in medical.json"
        return
    with pytest.raises(DataError) as caught:
        SPEC.load("novel")
    assert "\n" not in str(caught.value)


def test_a_question_about_a_text_that_is_missing_is_one_line() -> None:
    with pytest.raises(DataError, match="Novel-1"):
        graphrag_bench.build(entries({"corpus_name": "Novel-2", "context": "x"}), entries(QUESTION))


def test_nq_open_asks_the_questions_of_the_hub_about_documents_of_the_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rows = [
        {"question": "who runs the bakery in holm", "answer": ["Marta Lind", "Lind"]},
        {"question": "when did the mill open", "answer": ["1990"]},
        {"question": "who runs the bakery in holm", "answer": ["Marta Lind", "M. Lind"]},
    ]
    monkeypatch.setattr(hub_rows, "fetch", lambda table: rows if table.split == "validation" else [])
    (tmp_path / "wiki").mkdir()
    (tmp_path / "wiki" / "a.jsonl").write_text(
        json.dumps({"id": "1", "title": "Holm", "text": "Marta Lind bakes."})
    )
    raw = nq_open.SPEC.read("validation", nq_open.NqOpenParams(path=tmp_path / "wiki"))
    assert [row.reference.answers for row in raw.rows] == [("Marta Lind", "Lind", "M. Lind"), ("1990",)]
    assert [document.text for document in raw.documents] == ["Marta Lind bakes."]
    fewer = nq_open.SPEC.read("validation", nq_open.NqOpenParams(path=tmp_path / "wiki", queries=1))
    assert set(fewer.rows) <= set(raw.rows), "ids do not change with the draw"


@pytest.mark.parametrize("row", [{"question": "q"}, {"question": "q", "answer": "a"}, {"answer": ["a"]}])
def test_a_row_of_nq_open_in_another_form_is_one_line(row: dict[str, object]) -> None:
    with pytest.raises(DataError, match="f row 1"):
        nq_open.build(entries(row))
