"""MS MARCO, rag_12000 and NQ-open: what becomes of a row, and damaged rows."""

import json
from pathlib import Path

import pytest

from harness.core.errors import DataError
from harness.datasets import hub_rows, ms_marco, nq_open, rag_12000

from .conftest import file_entries

NULL = ("Insufficient information.",)


def marco_row(**changes: object) -> dict[str, object]:
    passages = {"is_selected": [0, 1], "passage_text": ["one", "two"], "url": ["u1", "u2"]}
    row = {"query_id": 5, "query": " q ", "query_type": "ENTITY", "answers": ["a"], "wellFormedAnswers": []}
    return row | {"passages": passages} | changes


@pytest.mark.parametrize(
    ("answers", "well_formed", "expected"),
    [
        ([""], [" "], ()),
        (["b ", "b", ""], "[]", ("b",)),
        (["b"], None, ("b",)),
        (["b"], ["B."], ("b", "B.")),
        (["No Answer Present.", "b"], [], ("b",)),
        ([], ["No Answer Present."], NULL),
    ],
)
def test_answers_of_every_form_on_the_hub_are_read(
    answers: list[str], well_formed: object, expected: tuple[str, ...]
) -> None:
    raw = ms_marco.build(file_entries(marco_row(answers=answers, wellFormedAnswers=well_formed)), "v2.1")
    assert raw.rows[0].reference.answers == expected
    assert bool(raw.rows[0].reference.evidence) == (expected != NULL)


def test_a_shared_passage_is_one_document_and_evidence_if_it_is_selected_anywhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw = ms_marco.build(file_entries(marco_row(), marco_row(query_id="6")), "v2.1")
    assert len(raw.documents) == 2
    assert raw.rows[0].doc_ids == raw.rows[1].doc_ids
    assert (raw.rows[1].query.query_id, raw.rows[0].query.text) == ("v2.1-6", "q")
    assert raw.rows[0].reference.query_type == "entity"
    passages = {"is_selected": [1, 0, 1, 0], "passage_text": ["a", "a", "b", " "], "url": ["", "u", "u", "u"]}
    raw = ms_marco.build(file_entries(marco_row(passages=passages)), "v1.1")
    assert [item.fact for item in raw.rows[0].reference.evidence] == ["a", "b"]
    assert len(raw.rows[0].doc_ids) == 2
    assert raw.documents[0].metadata == {}
    monkeypatch.setattr(ms_marco, "_ID_HEX", 1)  # Short ids clash.
    many = {"is_selected": [0] * 40, "passage_text": [f"passage {n}" for n in range(40)], "url": ["u"] * 40}
    raw = ms_marco.build(file_entries(marco_row(passages=many)), "v1.1")
    assert len({document.doc_id for document in raw.documents}) == 40


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"passages": {"is_selected": [0], "passage_text": ["a", "b"], "url": ["u", "u"]}}, "differ in length"),
        ({"passages": {"is_selected": [0], "passage_text": ["a"]}}, "'url' is missing"),
        ({"passages": [{"is_selected": 0}]}, "expected an object, found an array"),
        ({"answers": "a"}, "field 'answers' must be a list"),
        ({"wellFormedAnswers": [1]}, "a list of texts, not a number"),
        ({"query_id": 1.5}, "'query_id' must be text"),
        ({"query": ""}, "'query' is blank"),
    ],
)
def test_a_damaged_row_of_ms_marco_is_one_line(changes: dict[str, object], word: str) -> None:
    with pytest.raises(DataError) as caught:
        ms_marco.build(file_entries(marco_row(), marco_row(**changes)), "v1.1")
    assert word in str(caught.value)
    assert str(caught.value).startswith("f row 2")


def rag_rows(*triples: tuple[str | None, str | None, str | None]) -> list[dict[str, object]]:
    return [dict(zip(("context", "question", "answer"), triple, strict=True)) for triple in triples]


def test_a_context_of_rag_12000_with_two_questions_is_one_document_named_after_the_first() -> None:
    raw = rag_12000.build(file_entries(*rag_rows(("c", "q1", "a1"), ("d", "q2", "a2"), ("c", " q3 ", " a3 "))))
    assert [document.doc_id for document in raw.documents] == ["rag12000-00000", "rag12000-00001"]
    assert raw.rows[2].doc_ids == ("rag12000-00000",)
    assert (raw.rows[2].query.query_id, raw.rows[2].query.text) == ("rag12000-q00002", "q3")
    assert raw.rows[2].reference.answers == ("a3",)


@pytest.mark.parametrize("empty", [(None, "q", "a"), ("c", "q", None), ("c", " ", "a")])
def test_a_row_of_rag_12000_with_an_empty_field_is_left_out(empty: tuple[str | None, str, str | None]) -> None:
    raw = rag_12000.build(file_entries(*rag_rows(empty, ("c2", "q2", "a2"))))
    assert [row.query.query_id for row in raw.rows] == ["rag12000-q00001"]
    assert [document.text for document in raw.documents] == ["c2"]
    assert raw.notes == ("1 of 2 rows left out: a field is empty",)
    with pytest.raises(DataError, match="f row 1: field 'answer' is missing"):
        rag_12000.build(file_entries({"context": "c", "question": "q"}))


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
    document = {"id": "1", "title": "Holm", "text": "Marta Lind bakes."}
    (tmp_path / "wiki" / "a.jsonl").write_text(json.dumps(document))
    raw = nq_open.SPEC.read("validation", nq_open.NqOpenParams(path=tmp_path / "wiki"))
    assert [row.reference.answers for row in raw.rows] == [("Marta Lind", "Lind", "M. Lind"), ("1990",)]
    assert [document.text for document in raw.documents] == ["Marta Lind bakes."]
    fewer = nq_open.SPEC.read("validation", nq_open.NqOpenParams(path=tmp_path / "wiki", queries=1))
    assert set(fewer.rows) <= set(raw.rows), "ids do not change with the draw"
    with pytest.raises(DataError, match="f row 1"):
        nq_open.build(file_entries({"question": "q", "answer": "a"}))
