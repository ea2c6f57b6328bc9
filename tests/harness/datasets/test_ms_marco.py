import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.core.errors import DataError
from harness.datasets import ms_marco
from harness.datasets.ms_marco import SPEC, build
from harness.datasets.row_fields import FileEntry
from harness.protocols import DatasetSpec, RawDataset

LoadReal = Callable[[DatasetSpec, str], RawDataset]
NULL = ("Insufficient information.",)


def test_v1_1_is_the_default_and_has_200_queries_over_1624_passages(load_real: LoadReal) -> None:
    assert SPEC.subsets == ("v1.1", "v2.1")
    raw = load_real(SPEC, "v1.1")
    assert (len(raw.rows), len(raw.documents)) == (200, 1624)
    assert Counter(row.reference.query_type for row in raw.rows) == {
        "description": 107,
        "numeric": 49,
        "entity": 27,
        "location": 15,
        "person": 2,
    }


def test_v2_1_has_500_queries_over_4966_passages(load_real: LoadReal) -> None:
    raw = load_real(SPEC, "v2.1")
    assert (len(raw.rows), len(raw.documents)) == (500, 4966)
    assert Counter(row.reference.query_type for row in raw.rows) == {
        "description": 326,
        "numeric": 111,
        "entity": 33,
        "location": 21,
        "person": 9,
    }


@pytest.mark.parametrize(("subset", "selected"), [("v1.1", 211), ("v2.1", 316)])
def test_every_passage_is_attached_and_the_selected_ones_are_evidence(
    load_real: LoadReal, subset: str, selected: int
) -> None:
    raw = load_real(SPEC, subset)
    texts = {document.doc_id: document.text for document in raw.documents}
    assert len(texts) == len(raw.documents) == len(set(texts.values()))
    assert {doc_id for row in raw.rows for doc_id in row.doc_ids} == set(texts)
    evidence = [item for row in raw.rows for item in row.reference.evidence]
    assert len(evidence) == selected
    assert all(texts[item.doc_id] == item.fact for item in evidence)
    assert all(len(set(row.doc_ids)) == len(row.doc_ids) for row in raw.rows)
    assert all({item.doc_id for item in row.reference.evidence} <= set(row.doc_ids) for row in raw.rows)
    assert all(document.metadata["url"].startswith("http") for document in raw.documents)


def test_a_passage_repeated_within_a_query_is_attached_once(load_real: LoadReal, data_folder: Path) -> None:
    rows = json.loads((data_folder / "ms_marco/ms_marco_v1.1_train_sample200.json").read_text(encoding="utf-8"))
    counts = [len(set(row["passages"]["passage_text"])) for row in rows]
    assert sum(counts) < 1629
    assert [len(row.doc_ids) for row in load_real(SPEC, "v1.1").rows] == counts


def test_v1_1_rows_without_answer_or_passage_stay_and_are_counted(load_real: LoadReal) -> None:
    raw = load_real(SPEC, "v1.1")
    assert sum(row.reference.answers == () for row in raw.rows) == 7
    assert sum(row.reference.evidence == () for row in raw.rows) == 11
    assert any(note.startswith("7 of 200 queries have no reference answer") for note in raw.notes)
    assert any(note.startswith("11 of 200 queries have no selected passage") for note in raw.notes)


def test_v2_1_rows_without_an_answer_are_null_queries(load_real: LoadReal) -> None:
    raw = load_real(SPEC, "v2.1")
    null = [row for row in raw.rows if row.reference.answers == NULL]
    assert len(null) == 195
    assert all(row.reference.evidence == () for row in null)
    assert sum(bool(row.reference.evidence) for row in raw.rows) == 305
    assert not any("No Answer Present." in row.reference.answers for row in raw.rows)
    assert any(note.startswith("195 of 500 queries are marked") for note in raw.notes)


def test_well_formed_answers_are_further_right_answers(load_real: LoadReal, data_folder: Path) -> None:
    raw = load_real(SPEC, "v2.1")
    row = next(row for row in raw.rows if "Siriusxm cost is $14.99 per month." in row.reference.answers)
    assert row.reference.answers == ("$17", "$14.99", "Siriusxm cost is $14.99 per month.")


def test_answers_are_non_empty_and_never_repeated(load_real: LoadReal) -> None:
    for subset in SPEC.subsets:
        for row in load_real(SPEC, subset).rows:
            assert all(answer and answer == answer.strip() for answer in row.reference.answers)
            assert len(set(row.reference.answers)) == len(row.reference.answers)


def test_ids_name_the_version_and_the_original_id(load_real: LoadReal) -> None:
    raw = load_real(SPEC, "v1.1")
    assert raw.rows[0].query.query_id == "v1.1-34300"
    assert raw.rows[0].query.text == "what is cost of sales"
    assert all(len(document.doc_id) == len("v1.1:") + 12 for document in raw.documents)


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
