"""HotpotQA, 2WikiMultihopQA and MuSiQue: the real samples, the hub's columns, and damaged rows."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import DataError
from harness.datasets import hub_rows, local_files
from harness.datasets.multihop_wiki import HOTPOTQA, MUSIQUE, TWO_WIKI
from harness.protocols import DatasetSpec, RawDataset

from .conftest import LoadReal

SAMPLES = {HOTPOTQA: "hotpotqa_200", TWO_WIKI: "2wikimultihopqa_164", MUSIQUE: "musique_200"}
ORIGINAL = {
    HOTPOTQA: "hotpotqa/hotpot_dev_distractor_v1.json",
    MUSIQUE: "musique/musique_ans_v1.0_dev.jsonl",
}
HOTPOT_ROW: dict[str, Any] = {
    "_id": "q1",
    "question": "Where does Ann's brother live?",
    "answer": "Holm",
    "type": "bridge",
    "supporting_facts": [["Ann", 1], ["Bob", 0]],
    "context": [
        ["Ann", ["Ann bakes.", " Her brother is Bob."]],
        ["Bob", ["Bob lives in Holm."]],
        ["Cid", ["Cid."]],
    ],
}
MUSIQUE_ROW: dict[str, Any] = {
    "id": "2hop__1_2",
    "question": "Where does Ann's brother live?",
    "answer": "Holm",
    "answer_aliases": ["Holm Island", "Holm"],
    "answerable": True,
    "paragraphs": [
        {"idx": 0, "title": "Ann", "paragraph_text": "Her brother is Bob.", "is_supporting": True},
        {"idx": 1, "title": "Ann", "paragraph_text": "Ann bakes.", "is_supporting": False},
        {"idx": 2, "title": "Bob", "paragraph_text": "Bob lives in Holm.", "is_supporting": True},
    ],
}


def as_on_the_hub(row: Mapping[str, Any]) -> dict[str, Any]:
    context, facts = row["context"], row["supporting_facts"]
    return {name: value for name, value in row.items() if name != "_id"} | {
        "id": row["_id"],
        "context": {"title": [one[0] for one in context], "sentences": [one[1] for one in context]},
        "supporting_facts": {"title": [one[0] for one in facts], "sent_id": [one[1] for one in facts]},
    }


def load_own(folder: Path, spec: DatasetSpec, *rows: Mapping[str, Any]) -> RawDataset:
    path = folder / ORIGINAL[spec]
    path.parent.mkdir()
    lines = path.suffix == ".jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) if lines else json.dumps(rows))
    return spec.load("validation")


@pytest.mark.parametrize("spec", SAMPLES)
def test_the_hub_gives_the_same_rows_in_its_own_columns(
    monkeypatch: pytest.MonkeyPatch, data_folder: Path, load_real: LoadReal, spec: DatasetSpec
) -> None:
    path = local_files.find_in(data_folder, f"multihop_wiki/{SAMPLES[spec]}.jsonl")
    assert path
    rows = [dict(row.fields) for row in local_files.read_rows(path)]
    monkeypatch.setattr(hub_rows, "fetch", lambda _: [r if "paragraphs" in r else as_on_the_hub(r) for r in rows])
    raw = spec.load("validation")
    assert (raw.documents, raw.rows) == (
        load_real(spec, "validation").documents,
        load_real(spec, "validation").rows,
    )
    assert raw.departures, "it has fewer rows than were published"


def test_a_draw_of_questions_is_the_corpus_and_a_part_of_a_larger_one(data_folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(local_files.ENV, str(data_folder))
        few, more = (HOTPOTQA.read("validation", hub_rows.PooledParams(queries=count)) for count in (20, 50))
    assert len(few.rows) == 20
    assert set(few.rows) < set(more.rows)
    assert {doc_id for row in few.rows for doc_id in row.doc_ids} == {one.doc_id for one in few.documents}


def test_paragraphs_of_one_title_are_documents_of_their_own(own_data: Path) -> None:
    raw = load_own(own_data, MUSIQUE, MUSIQUE_ROW)
    assert [document.title for document in raw.documents] == ["Ann", "Ann", "Bob"]
    assert len({document.doc_id for document in raw.documents}) == 3
    assert raw.rows[0].reference.answers == ("Holm", "Holm Island")
    assert raw.rows[0].reference.query_type == "2hop"


def test_unanswerable_questions_are_left_out_because_the_pool_may_answer_them(own_data: Path) -> None:
    unanswerable = MUSIQUE_ROW | {"answerable": False, "paragraphs": MUSIQUE_ROW["paragraphs"][:2]}
    raw = load_own(own_data, MUSIQUE, MUSIQUE_ROW, unanswerable)
    assert [row.query.query_id for row in raw.rows] == ["2hop__1_2"]
    assert any("1 of 2" in note for note in raw.notes)


def test_a_gold_sentence_that_a_paragraph_does_not_have_is_left_out_and_counted(own_data: Path) -> None:
    raw = load_own(own_data, HOTPOTQA, HOTPOT_ROW | {"supporting_facts": [["Ann", 1], ["Bob", 902]]})
    assert [item.fact for item in raw.rows[0].reference.evidence] == ["Her brother is Bob."]
    assert any(note.startswith("1 gold fact") for note in raw.notes)


@pytest.mark.parametrize(
    ("spec", "row", "words"),
    [
        (HOTPOTQA, HOTPOT_ROW | {"supporting_facts": [["Dan", 0]]}, ("'Dan'", "distractor")),
        (HOTPOTQA, HOTPOT_ROW | {"context": "[]"}, ("'context'",)),
        (HOTPOTQA, HOTPOT_ROW | {"context": [["Ann"]]}, ("context row 1",)),
        (HOTPOTQA, HOTPOT_ROW | {"context": [["Ann", "Ann bakes."]]}, ("'sentences'",)),
        (HOTPOTQA, HOTPOT_ROW | {"context": {"title": ["Ann"], "sentences": []}}, ("context",)),
        (HOTPOTQA, HOTPOT_ROW | {"supporting_facts": [["Ann", "1"]]}, ("'sent_id'",)),
        (HOTPOTQA, {name: HOTPOT_ROW[name] for name in HOTPOT_ROW if name != "answer"}, ("'answer'",)),
        (MUSIQUE, MUSIQUE_ROW | {"paragraphs": [{"title": "Ann", "paragraph_text": "x"}]}, ("'is_supporting'",)),
        (MUSIQUE, MUSIQUE_ROW | {"answerable": False}, ("answerable",)),
    ],
)
def test_a_damaged_row_is_one_line_that_names_it(
    own_data: Path, spec: DatasetSpec, row: Mapping[str, Any], words: tuple[str, ...]
) -> None:
    with pytest.raises(DataError) as caught:
        load_own(own_data, spec, row)
    assert "\n" not in str(caught.value)
    assert all(word in str(caught.value) for word in (*words, ORIGINAL[spec]))
