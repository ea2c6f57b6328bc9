"""Test collections, from a folder as BEIR publishes them and by name."""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path

import ir_datasets
import pytest

from harness.config import DatasetConfig
from harness.core.errors import DataError, HarnessError
from harness.datasets import Dataset
from harness.datasets.judged import collection
from harness.evaluators.retrieval import RetrievalEvaluator, RetrievalParams, rules
from harness.protocols import RunFacts
from harness.runner.dataset_loading import load_whole

QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t1\nq1\td3\t0\nq2\td4\t1\nq3\td3\t0\nd5\td5\t1\n"
N = 30


def lines(rows: Iterable[dict[str, str]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Queries q1, q2, d5 have a relevant document, q3 has none, q4 was not judged."""
    place = tmp_path / "toyfact"
    (place / "qrels").mkdir(parents=True)
    rows = [{"_id": f"d{n}", "title": f"T{n}", "text": f"text {n}" if n != 2 else ""} for n in range(1, N + 1)]
    (place / "corpus.jsonl").write_text(lines(rows))
    asked = [{"_id": name, "text": f"what of {name}?"} for name in ("q3", "q2", "q1", "q4", "d5")]
    (place / "queries.jsonl").write_text(lines(asked))
    (place / "qrels" / "test.tsv").write_text(QRELS)
    return place


def beir(folder: Path, **more: object) -> Dataset:
    return load_whole(DatasetConfig.model_validate({"name": "beir", "path": folder, **more}))


def cited(found: Dataset) -> dict[str, list[str]]:
    return {one.query_id: [item.doc_id for item in one.evidence] for one in found.references}


def test_a_query_has_the_documents_that_are_judged_above_zero_and_notes_say_what_differs(folder: Path) -> None:
    found = beir(folder)
    assert cited(found) == {"q2": ["d4"], "q1": ["d1", "d2"], "d5": ["d5"]}
    assert len(found.documents) == N
    assert (found.documents[1].text, found.documents[1].title) == ("T2", "T2")
    assert (found.title, found.primary_measure) == ("toyfact", "nDCG@10")
    notes = "\n".join(found.notes)
    assert "no facts and no answers" in notes
    assert "1 of 4 queries left out: they have no relevant document" in notes
    assert "relevance is graded 1 to 2" in notes
    assert "1 queries have the id of a document" in notes


def test_metrics_of_facts_do_not_apply_and_those_of_documents_do(folder: Path) -> None:
    reference = beir(folder).references[0]
    params = RetrievalParams()
    evaluator = RetrievalEvaluator(params, None)  # type: ignore[arg-type]
    why = {one.measure.name: evaluator.not_applicable(reference, one.measure, RunFacts()) for one in rules(params)}
    assert not why["nDCG@10"]
    assert not why["Recall@10"]
    assert why["fact_AllHit@4"] == "the evidence states no fact"


def test_packed_files_give_the_same_data_set(folder: Path) -> None:
    before = beir(folder)
    for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"):
        path = folder / name
        Path(f"{path}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert beir(folder).digest == before.digest


def test_distractors_are_drawn_by_a_seed_and_fewer_are_a_part_of_more(folder: Path) -> None:
    few, more, others = (
        {one.doc_id for one in beir(folder, options={"distractors": n, "seed": seed}).documents}
        for n, seed in ((4, 42), (9, 42), (9, 43))
    )
    assert {"d1", "d2", "d4", "d5"} < few < more
    assert (len(few), len(more)) == (8, 13)
    assert more != others
    note = next(one for one in beir(folder, options={"distractors": 4}).notes if "drawn" in one)
    assert note.startswith("8 of 30 documents: all relevant ones, and 4 others drawn with seed 42")


def test_more_documents_than_a_laptop_indexes_are_refused_with_the_way_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection, "MOST_DOCUMENTS", 20)
    with pytest.raises(DataError, match=r"more than 20 documents: draw a part of them: --set dataset\.options"):
        beir(folder)
    assert len(beir(folder, options={"distractors": 3}).documents) == 7


def test_a_relevant_document_that_the_corpus_lacks_is_counted(folder: Path) -> None:
    (folder / "qrels" / "dev.tsv").write_text("q1\td1\t1\nq1\tgone\t1\nq2\tgone\t1\n")
    found = beir(folder, subset="dev")
    assert cited(found) == {"q1": ["d1"]}
    assert "1 of 2 relevant documents are not in the corpus" in "\n".join(found.notes)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("qrels/test.tsv", f"{QRELS}q1\td1\n", "is not a judgement"),
        ("queries.jsonl", '{"_id": "q1"}\n', "field 'text' is missing"),
        ("corpus.jsonl", '{"_id": "d1", "text": "x"}\n' * 2, "'d1' occurs twice"),
    ],
)
def test_a_damaged_or_missing_file_is_one_line(folder: Path, name: str, text: str, words: str) -> None:
    (folder / name).write_text(text)
    with pytest.raises(DataError, match=words):
        beir(folder)
    (folder / name).unlink()
    with pytest.raises(DataError, match=f"has no {name}: a BEIR folder contains corpus.jsonl, queries.jsonl"):
        beir(folder)


def test_another_split_or_data_set_is_offered_if_it_is_one(folder: Path) -> None:
    (folder / "qrels" / "test.tsv").rename(folder / "qrels" / "dev.tsv")
    with pytest.raises(DataError, match=r"has no qrels/test.tsv: choose --set dataset.subset=dev"):
        beir(folder)
    with pytest.raises(DataError, match="is a data set in BEIR format: add --dataset beir"):
        load_whole(DatasetConfig(name="files", path=str(folder)))


def by_name(**options: object) -> Dataset:
    return load_whole(DatasetConfig(name="ir_datasets", options=options))


def test_a_collection_by_name_reads_like_a_folder(tmp_path: Path) -> None:
    (tmp_path / "docs.tsv").write_text("".join(f"d{n}\ttext {n}\n" for n in range(1, N + 1)))
    (tmp_path / "queries.tsv").write_text("q1\twhat of q1?\nq2\twhat of q2?\n")
    (tmp_path / "qrels").write_text("q1 0 d1 2\nq1 0 d3 0\n")
    made = ir_datasets.create_dataset(*(str(tmp_path / name) for name in ("docs.tsv", "queries.tsv", "qrels")))
    name = f"of-this-machine/{tmp_path.name}"
    ir_datasets.registry.register(name, made)
    found = by_name(id=name)
    assert cited(found) == {"q1": ["d1"]}
    assert found.queries[0].text == "what of q1?"
    assert (len(found.documents), found.title) == (N, name)
    assert len(by_name(id=name, distractors=2).documents) == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"id": "beir/scifact/tset"}, "did you mean 'beir/scifact/test'"),
        ({"id": "beir/scifact"}, "of ir_datasets has no qrels: choose a part that has them: beir/scifact/test"),
        ({}, "ir_datasets needs dataset.options.id: add --set dataset.options.id=..."),
        ({"id": "beir/scifact/test", "distracters": 3}, "did you mean 'distractors'"),
    ],
)
def test_an_unknown_collection_or_option_is_one_line(options: dict[str, object], words: str) -> None:
    with pytest.raises(HarnessError) as caught:
        by_name(**options)
    assert words in str(caught.value)


@pytest.mark.network
@pytest.mark.slow
def test_scifact_is_fetched_by_name() -> None:
    found = by_name(id="beir/scifact/test")
    assert (len(found.queries), len(found.documents)) == (300, 5183)
