"""Rows under the name of a public data set: whether they are those that were published."""

import gzip
import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from harness.datasets import load_dataset, local_files, ms_marco, multihop_rag, rag_12000, uda_qa
from harness.datasets.published_check import PUBLISHED, content_digest
from harness.datasets.row_fields import FileEntry
from harness.protocols import DatasetSpec, RawDataset

LoadReal = Callable[[DatasetSpec, str], RawDataset]
DEMO = Path(__file__).parents[3] / "data" / "demo"


@pytest.mark.parametrize(
    ("spec", "subset"),
    [
        (multihop_rag.SPEC, "default"),
        (ms_marco.SPEC, "v1.1"),
        (ms_marco.SPEC, "v2.1"),
        (rag_12000.SPEC, "train"),
        (uda_qa.SPEC, "all"),
    ],
)
def test_the_published_files_depart_from_nothing(load_real: LoadReal, spec: DatasetSpec, subset: str) -> None:
    assert load_real(spec, subset).departures == ()


def test_another_wiki_under_the_name_of_a_data_set_is_said_to_be_one(own_data: Path) -> None:
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
    rows = [
        dict(row.fields)
        for row in local_files.read_rows(data_folder / "neural_bridge/rag_dataset_12000_train_head100.jsonl")
    ]
    (own_data / "neural_bridge").mkdir()
    path = own_data / "neural_bridge/rag_dataset_12000_train_head100.jsonl.gz"
    for answer, departs in ((rows[7]["answer"], False), (f"{rows[7]['answer']}.", True)):
        rows[7]["answer"] = answer
        path.write_bytes(gzip.compress("".join(json.dumps(row, indent=None) + "\n" for row in rows).encode()))
        assert bool(rag_12000.SPEC.load("train").departures) == departs


def test_rows_are_the_same_however_a_file_or_the_hub_spells_them() -> None:
    as_csv = {"id": "7", "short": "", "text": "a\rb", "at": "2023-11-27T08:45:59+00:00"}
    as_table = {"at": datetime(2023, 11, 27, 8, 45, 59), "text": "ab", "id": 7, "short": None}
    digests = {content_digest([FileEntry(where, row)]) for where, row in (("f", as_csv), ("hub", as_table))}
    assert len(digests) == 1
    assert content_digest([FileEntry("f", {**as_csv, "id": "8"})]) not in digests


def test_the_order_of_rows_is_a_part_of_what_they_say() -> None:
    rows = [FileEntry("f", {"id": n}) for n in range(2)]
    assert content_digest(rows) != content_digest(rows[::-1])


def test_every_file_that_is_held_against_something_says_what(data_folder: Path) -> None:
    for place, known in PUBLISHED.items():
        assert local_files.find_in(data_folder, place), place
        assert known.source
        assert known.n_rows
