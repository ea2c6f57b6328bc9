import pytest

from harness.core.errors import DataError
from harness.datasets import ms_marco
from harness.datasets.ms_marco import build
from harness.datasets.row_fields import FileEntry

NULL = ("Insufficient information.",)


def hub_row(**changes: object) -> dict[str, object]:
    passages = {"is_selected": [0, 1], "passage_text": ["one", "two"], "url": ["u1", "u2"]}
    row = {"query_id": 5, "query": " q ", "query_type": "ENTITY", "answers": ["a"], "wellFormedAnswers": []}
    return row | {"passages": passages} | changes


def entries(*rows: dict[str, object]) -> list[FileEntry]:
    return [FileEntry(f"f row {number}", row) for number, row in enumerate(rows, start=1)]


@pytest.mark.parametrize(
    ("answers", "well_formed", "expected"),
    [
        ([], [], ()),
        ([""], [" "], ()),
        (["b ", "b", ""], "[]", ("b",)),
        (["b"], ["[]"], ("b",)),
        (["b"], None, ("b",)),
        (["b"], ["B."], ("b", "B.")),
        (["No Answer Present."], [], NULL),
        (["No Answer Present.", "b"], [], ("b",)),
        ([], ["No Answer Present."], NULL),
    ],
)
def test_answers_of_every_shape_the_hub_has(
    answers: list[str], well_formed: object, expected: tuple[str, ...]
) -> None:
    raw = build(entries(hub_row(answers=answers, wellFormedAnswers=well_formed)), "v2.1")
    assert raw.rows[0].reference.answers == expected
    assert bool(raw.rows[0].reference.evidence) == (expected != NULL)


def test_a_passage_shared_by_two_queries_is_one_document() -> None:
    raw = build(entries(hub_row(), hub_row(query_id="6")), "v2.1")
    assert len(raw.documents) == 2
    assert raw.rows[0].doc_ids == raw.rows[1].doc_ids
    assert raw.rows[1].query.query_id == "v2.1-6"
    assert raw.rows[0].query.text == "q"
    assert raw.rows[0].reference.query_type == "entity"


def test_a_passage_selected_at_its_second_place_is_evidence() -> None:
    passages = {"is_selected": [1, 0, 1, 0], "passage_text": ["a", "a", "b", " "], "url": ["", "u", "u", "u"]}
    raw = build(entries(hub_row(passages=passages)), "v1.1")
    assert [item.fact for item in raw.rows[0].reference.evidence] == ["a", "b"]
    assert len(raw.rows[0].doc_ids) == 2
    assert raw.documents[0].metadata == {}


def test_two_passages_whose_short_ids_clash_stay_two_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ms_marco, "_ID_HEX", 1)
    texts = [f"passage {number}" for number in range(40)]
    passages = {"is_selected": [0] * 40, "passage_text": texts, "url": ["u"] * 40}
    raw = build(entries(hub_row(passages=passages)), "v1.1")
    assert len({document.doc_id for document in raw.documents}) == 40


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"passages": {"is_selected": [0], "passage_text": ["a", "b"], "url": ["u", "u"]}}, "differ in length"),
        ({"passages": {"is_selected": [0], "passage_text": ["a"]}}, "'url' is missing"),
        ({"passages": [{"is_selected": 0}]}, "expected an object, found an array"),
        ({"answers": "a"}, "field 'answers' must be a list"),
        ({"answers": [None]}, "a list of texts, not null"),
        ({"wellFormedAnswers": [1]}, "a list of texts, not a number"),
        ({"query_id": 1.5}, "'query_id' must be text"),
        ({"query": ""}, "'query' is blank"),
        ({"query_type": None}, "'query_type' must be text, not null"),
    ],
)
def test_a_row_that_contradicts_the_schema_is_one_line(changes: dict[str, object], word: str) -> None:
    with pytest.raises(DataError) as caught:
        build(entries(hub_row(), hub_row(**changes)), "v1.1")
    assert word in str(caught.value)
    assert str(caught.value).startswith("f row 2")
