"""Rows under the name of a public data set: whether they are those that were published."""

import gzip
import json
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import pytest

from harness.datasets import (
    evidence_cases,
    graphrag_bench,
    hub_rows,
    load_dataset,
    local_files,
    ms_marco,
    multihop_rag,
    multihop_wiki,
    rag_12000,
    uda_qa,
)
from harness.datasets.published_check import PUBLISHED, content_digest
from harness.datasets.row_fields import FileEntry
from harness.protocols import DatasetSpec
from harness.testing.datasets.contract import digest_of

from .conftest import LoadReal

DEMO = Path(__file__).parents[3] / "data" / "demo"
MULTIHOP = {"comparison": 856, "inference": 816, "temporal": 583, "null": 301}
V1 = {"description": 107, "numeric": 49, "entity": 27, "location": 15, "person": 2}
V2 = {"description": 326, "numeric": 111, "entity": 33, "location": 21, "person": 9}
MUSIQUE = {"2hop": 145, "3hop": 32, "4hop": 23}
TWO_WIKI = {"compositional": 57, "comparison": 54, "bridge_comparison": 43, "inference": 10}
GRAPHRAG = ("fact_retrieval", "complex_reasoning", "contextual_summarize", "creative_generation")
MEDICAL = dict(zip(GRAPHRAG, (1098, 509, 289, 166), strict=True))
CASES = {
    **{f"{domain}, medium": 89 for domain in ("business", "entertainment", "sports")},
    **{"business, long": 89, "sports, long": 89, "entertainment, long": 80, "technology, long": 88},
    **{"technology, medium": 88, "health, long": 4, "health, medium": 10, "science, long": 11},
    **{"science, medium": 12, "encyclopedia, short": 89, "encyclopedia, medium": 84, "encyclopedia, long": 89},
}
NOVEL = dict(zip(GRAPHRAG, (971, 609, 362, 67), strict=True))


@pytest.mark.parametrize(
    ("spec", "subset", "documents", "facts", "types", "content"),
    [
        (multihop_rag.SPEC, "default", 609, 6084, MULTIHOP, "b18e0befda783a0b"),
        (ms_marco.SPEC, "v1.1", 1624, 211, V1, "5a6e892f5eaf27de"),
        (ms_marco.SPEC, "v2.1", 4966, 316, V2, "03aad77aa7048bf7"),
        (rag_12000.SPEC, "train", 100, 100, {"qa": 100}, "b27062c74114ecfd"),
        (uda_qa.SPEC, "nq", 645, 2477, {"nq": 2477}, "4809faf6d2fd22e8"),
        (uda_qa.SPEC, "feta", 460, 1889, {"feta": 516}, "51406cb91cde444f"),
        (multihop_wiki.HOTPOTQA, "validation", 1971, 473, {"bridge": 134, "comparison": 66}, "61597f6777ef09c9"),
        (multihop_wiki.TWO_WIKI, "validation", 1294, 414, TWO_WIKI, "7c3fff7ab014c348"),
        (multihop_wiki.MUSIQUE, "validation", 3141, 478, MUSIQUE, "f687e0e4f3c5c2ab"),
        (graphrag_bench.SPEC, "medical", 1, 0, MEDICAL, "210b3b2395bdd04f"),
        (graphrag_bench.SPEC, "novel", 20, 0, NOVEL, "ad5a73853eaa326e"),
        (evidence_cases.SPEC, "default", 573, 2117, CASES, "4b1a5ef5bdede814"),
    ],
)
def test_published_rows_are_read_whole_and_always_the_same(
    load_real: LoadReal,
    spec: DatasetSpec,
    subset: str,
    documents: int,
    facts: int,
    types: Mapping[str, int],
    content: str,
) -> None:
    """`content` is of every text, id, answer, fact and note: if it changes, so do published figures."""
    raw = load_real(spec, subset)
    texts = {document.doc_id: document.text for document in raw.documents}
    stated = [(row, item) for row in raw.rows for item in row.reference.evidence if item.fact]
    assert all(item.fact in texts[item.doc_id] and item.doc_id in row.doc_ids for row, item in stated)
    assert raw.departures == ()
    assert (len(texts), len(stated)) == (documents, facts)
    assert Counter(row.reference.query_type for row in raw.rows) == types
    assert digest_of(raw)[:16] == content


def test_other_rows_under_the_name_of_a_data_set_are_reported(own_data: Path) -> None:
    (own_data / "multihop_rag").mkdir()
    for ours, theirs in (("corpus.json", "corpus.json"), ("queries.json", "MultiHopRAG.json")):
        (own_data / "multihop_rag" / theirs).write_bytes((DEMO / ours).read_bytes())
    found = load_dataset(multihop_rag.SPEC)
    assert not found.is_as_published
    assert "multihop_rag/corpus.json differs from the published file" in found.notes[0]
    assert "28 rows" in found.notes[0]
    assert "instead of 609" in found.notes[0]
    assert "multihop_rag/MultiHopRAG.json" in found.notes[1]


def test_one_letter_of_one_answer_is_enough(own_data: Path, data_folder: Path) -> None:
    name = "neural_bridge/rag_dataset_12000_train_head100.jsonl"
    rows = [dict(row.fields) for row in local_files.read_rows(data_folder / name)]
    (own_data / "neural_bridge").mkdir()
    path = own_data / f"{name}.gz"
    assert rag_12000.SPEC.subsets[0] == "train", "the default is what the hub serves"
    for answer, departs in ((rows[7]["answer"], False), (f"{rows[7]['answer']}.", True)):
        rows[7]["answer"] = answer
        path.write_bytes(gzip.compress("".join(json.dumps(row, indent=None) + "\n" for row in rows).encode()))
        assert bool(rag_12000.SPEC.read("train").departures) == departs


def test_a_part_of_the_published_rows_is_not_reported_as_other_rows(
    monkeypatch: pytest.MonkeyPatch, data_folder: Path
) -> None:
    monkeypatch.setenv(local_files.ENV, str(data_folder))
    assert not ms_marco.SPEC.read("v1.1", hub_rows.PooledParams(queries=50)).departures


def test_a_field_that_is_not_read_and_cannot_be_encoded_makes_the_rows_other_rows(own_data: Path) -> None:
    (own_data / "neural_bridge").mkdir()
    row = {"context": "c", "question": "q", "answer": "a", "note": "\ud800"}
    (own_data / "neural_bridge" / "rag_dataset_12000_train_head100.jsonl").write_text(json.dumps(row))
    assert len(rag_12000.SPEC.read("train").departures) == 1


def test_rows_are_the_same_however_a_file_or_the_hub_spells_them() -> None:
    as_csv = {"id": "7", "short": "", "text": "a\rb", "at": "2023-11-27T08:45:59+00:00"}
    as_table = {"at": datetime(2023, 11, 27, 8, 45, 59), "text": "ab", "id": 7, "short": None}
    digests = {content_digest([FileEntry(where, row)]) for where, row in (("f", as_csv), ("hub", as_table))}
    assert len(digests) == 1
    assert content_digest([FileEntry("f", {**as_csv, "id": "8"})]) not in digests
    rows = [FileEntry("f", {"id": n}) for n in range(2)]
    assert content_digest(rows) != content_digest(rows[::-1]), "their order is a part of what they say"


def test_every_published_file_is_there_and_has_a_source(data_folder: Path) -> None:
    for place, known in PUBLISHED.items():
        assert local_files.find_in(data_folder, place), place
        assert known.source and known.n_rows
