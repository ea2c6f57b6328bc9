import pytest

from harness.core.errors import DataError
from harness.datasets.rag_12000 import build
from harness.datasets.row_fields import FileEntry


def rows(*triples: tuple[str | None, str | None, str | None]) -> list[FileEntry]:
    names = ("context", "question", "answer")
    return [FileEntry(f"f row {n}", dict(zip(names, triple, strict=True))) for n, triple in enumerate(triples, 1)]


def test_a_context_with_two_questions_is_one_document_named_after_the_first() -> None:
    raw = build(rows(("c", "q1", "a1"), ("d", "q2", "a2"), ("c", " q3 ", " a3 ")))
    assert [document.doc_id for document in raw.documents] == ["rag12000-00000", "rag12000-00001"]
    assert raw.rows[2].doc_ids == ("rag12000-00000",)
    assert raw.rows[2].query.query_id == "rag12000-q00002"
    assert raw.rows[2].query.text == "q3"
    assert raw.rows[2].reference.answers == ("a3",)


@pytest.mark.parametrize("empty", [(None, "q", "a"), ("c", None, "a"), ("c", "q", None), ("c", " ", "a")])
def test_a_row_with_an_empty_field_is_left_out_with_a_note(
    empty: tuple[str | None, str | None, str | None],
) -> None:
    raw = build(rows(empty, ("c2", "q2", "a2")))
    assert [row.query.query_id for row in raw.rows] == ["rag12000-q00001"]
    assert [document.text for document in raw.documents] == ["c2"]
    assert raw.notes == ("1 of 2 rows left out: a field is empty",)


@pytest.mark.parametrize("field", ["context", "question", "answer"])
def test_a_row_without_a_field_is_one_line(field: str) -> None:
    (entry,) = rows(("c", "q", "a"))
    broken = FileEntry(entry.where, {name: value for name, value in entry.fields.items() if name != field})
    with pytest.raises(DataError, match=f"f row 1: field '{field}' is missing"):
        build([broken])
