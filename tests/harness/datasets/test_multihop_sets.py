"""MultiHop-RAG, HotpotQA, 2WikiMultihopQA, MuSiQue and GraphRAG-Bench: small files, and damaged rows."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import DataError
from harness.datasets import graphrag_bench, hub_rows, local_files, multihop_rag
from harness.datasets.multihop_wiki import HOTPOTQA, MUSIQUE, TWO_WIKI
from harness.protocols import DatasetSpec, RawDataset

from .conftest import LoadReal, file_entries

Row = Mapping[str, Any]


def load_own(folder: Path, spec: DatasetSpec, subset: str, files: Mapping[str, object]) -> RawDataset:
    """Load a data set from these files in the data directory; a list is JSON Lines if the name says so."""
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        rows = content if name.endswith(".jsonl") and isinstance(content, list) else [content]
        (folder / name).write_text("\n".join(map(json.dumps, rows)))
    return spec.read(subset)


ARTICLE: Row = {
    **{"title": "T", "author": None, "source": "S", "published_at": "2024-01-01T00:00:00+00:00"},
    **{"category": "c", "url": "u1", "body": "Some fact."},
}
QUERY: Row = {
    **{"query": "What?", "answer": "That", "question_type": "inference_query"},
    "evidence_list": [{"url": "u1", "fact": "fact"}],
}


def multihop(folder: Path, corpus: object, queries: object) -> RawDataset:
    files = {"multihop_rag/corpus.json": corpus, "multihop_rag/MultiHopRAG.json": queries}
    return load_own(folder, multihop_rag.SPEC, "default", files)


def test_a_small_multihop_rag_loads(own_data: Path) -> None:
    raw = multihop(own_data, [ARTICLE], [QUERY])
    names = ("source", "category", "published_at", "url")
    assert raw.documents[0].metadata == {name: ARTICLE[name] for name in names}
    assert raw.rows[0].reference.query_type == "inference"


@pytest.mark.parametrize(
    ("corpus", "queries", "word"),
    [
        ([ARTICLE], [QUERY, {**QUERY, "answer": None}], "MultiHopRAG.json row 2: field 'answer'"),
        ([{"body": "b"}], [QUERY], "corpus.json row 1: field 'url'"),
        ([ARTICLE, ARTICLE], [QUERY], "url u1 occurs twice"),
        ([{**ARTICLE, "url": "u2"}], [QUERY], "evidence u1 is not in the corpus"),
        ([ARTICLE], [{**QUERY, "evidence_list": [{"url": "u1"}]}], "evidence_list row 1: field 'fact' is missing"),
        ([ARTICLE], [{**QUERY, "query": "\ud800"}], "surrogate"),
        ({"articles": []}, [QUERY], "corpus.json line 1: field 'url'"),
        ([], [QUERY], "has no rows"),
    ],
)
def test_a_damaged_multihop_rag_is_one_line(own_data: Path, corpus: object, queries: object, word: str) -> None:
    with pytest.raises(DataError) as caught:
        multihop(own_data, corpus, queries)
    assert word in str(caught.value)
    assert "\n" not in str(caught.value)


# Wikipedia


SAMPLES = {HOTPOTQA: "hotpotqa_200", TWO_WIKI: "2wikimultihopqa_164", MUSIQUE: "musique_200"}
ORIGINAL = {HOTPOTQA: "hotpotqa/hotpot_dev_distractor_v1.json", MUSIQUE: "musique/musique_ans_v1.0_dev.jsonl"}
HOTPOT: Row = {
    **{"_id": "q1", "question": "Where does Ann's brother live?", "answer": "Holm", "type": "bridge"},
    "supporting_facts": [["Ann", 1], ["Bob", 0]],
    "context": [
        ["Ann", ["Ann bakes.", " Her brother is Bob."]],
        ["Bob", ["Bob lives in Holm."]],
        ["Cid", ["Cid."]],
    ],
}
MUSIQUE_ROW: Row = {
    **{"id": "2hop__1_2", "question": "Where does Ann's brother live?", "answer": "Holm"},
    **{"answer_aliases": ["Holm Island", "Holm"], "answerable": True},
    "paragraphs": [
        {"idx": 0, "title": "Ann", "paragraph_text": "Her brother is Bob.", "is_supporting": True},
        {"idx": 1, "title": "Ann", "paragraph_text": "Ann bakes.", "is_supporting": False},
        {"idx": 2, "title": "Bob", "paragraph_text": "Bob lives in Holm.", "is_supporting": True},
    ],
}


def wiki(folder: Path, spec: DatasetSpec, *rows: Row) -> RawDataset:
    return load_own(folder, spec, "validation", {ORIGINAL[spec]: list(rows)})


def as_on_the_hub(row: Row) -> dict[str, Any]:
    context, facts = row["context"], row["supporting_facts"]
    return {name: value for name, value in row.items() if name != "_id"} | {
        "id": row["_id"],
        "context": {"title": [one[0] for one in context], "sentences": [one[1] for one in context]},
        "supporting_facts": {"title": [one[0] for one in facts], "sent_id": [one[1] for one in facts]},
    }


@pytest.mark.parametrize("spec", SAMPLES)
def test_the_hub_gives_the_same_rows_in_its_own_columns(
    monkeypatch: pytest.MonkeyPatch, data_folder: Path, load_real: LoadReal, spec: DatasetSpec
) -> None:
    path = local_files.find_in(data_folder, f"multihop_wiki/{SAMPLES[spec]}.jsonl")
    assert path
    rows = [dict(row.fields) for row in local_files.read_rows(path)]
    monkeypatch.setattr(hub_rows, "fetch", lambda _: [r if "paragraphs" in r else as_on_the_hub(r) for r in rows])
    raw, real = spec.read("validation"), load_real(spec, "validation")
    assert (raw.documents, raw.rows) == (real.documents, real.rows)
    assert raw.departures, "it has fewer rows than were published"


def test_a_draw_of_questions_is_the_corpus_and_a_part_of_a_larger_one(
    monkeypatch: pytest.MonkeyPatch, data_folder: Path
) -> None:
    monkeypatch.setenv(local_files.ENV, str(data_folder))
    few, more = (HOTPOTQA.read("validation", hub_rows.PooledParams(queries=count)) for count in (20, 50))
    assert len(few.rows) == 20
    assert set(few.rows) < set(more.rows)
    assert {doc_id for row in few.rows for doc_id in row.doc_ids} == {one.doc_id for one in few.documents}


def test_paragraphs_of_one_title_are_documents_and_unanswerable_questions_are_left_out(own_data: Path) -> None:
    """Because another question's paragraph in the pool may answer them."""
    unanswerable = {**MUSIQUE_ROW, "answerable": False, "paragraphs": MUSIQUE_ROW["paragraphs"][:2]}
    raw = wiki(own_data, MUSIQUE, MUSIQUE_ROW, unanswerable)
    assert [document.title for document in raw.documents] == ["Ann", "Ann", "Bob"]
    assert len({document.doc_id for document in raw.documents}) == 3
    (row,) = raw.rows
    assert (row.reference.answers, row.reference.query_type) == (("Holm", "Holm Island"), "2hop")
    assert any("1 of 2" in note for note in raw.notes)


def test_a_gold_sentence_that_its_paragraph_lacks_is_left_out_and_counted(own_data: Path) -> None:
    raw = wiki(own_data, HOTPOTQA, {**HOTPOT, "supporting_facts": [["Ann", 1], ["Bob", 902]]})
    assert [item.fact for item in raw.rows[0].reference.evidence] == ["Her brother is Bob."]
    assert any(note.startswith("1 gold fact") for note in raw.notes)


@pytest.mark.parametrize(
    ("spec", "row", "word"),
    [
        (HOTPOTQA, {**HOTPOT, "supporting_facts": [["Dan", 0]]}, "'Dan' is no paragraph of the question"),
        (HOTPOTQA, {**HOTPOT, "context": "[]"}, "'context'"),
        (HOTPOTQA, {**HOTPOT, "context": [["Ann"]]}, "context row 1"),
        (HOTPOTQA, {**HOTPOT, "context": {"title": ["Ann"], "sentences": []}}, "context"),
        (HOTPOTQA, {**HOTPOT, "supporting_facts": [["Ann", "1"]]}, "'sent_id'"),
        (MUSIQUE, {**MUSIQUE_ROW, "paragraphs": [{"title": "A", "paragraph_text": "x"}]}, "'is_supporting'"),
        (MUSIQUE, {**MUSIQUE_ROW, "answerable": False}, "answerable"),
    ],
)
def test_a_damaged_row_is_one_line_that_names_it(own_data: Path, spec: DatasetSpec, row: Row, word: str) -> None:
    with pytest.raises(DataError) as caught:
        wiki(own_data, spec, row)
    assert "\n" not in str(caught.value)
    assert all(one in str(caught.value) for one in (word, ORIGINAL[spec]))


# GraphRAG-Bench


QUESTION = {
    **{"id": "q", "source": "Novel-1", "question": "Who?", "answer": "Ann did."},
    "question_type": "Fact Retrieval",
}


def test_one_novel_is_a_corpus_of_its_own(monkeypatch: pytest.MonkeyPatch, data_folder: Path) -> None:
    monkeypatch.setenv(local_files.ENV, str(data_folder))
    raw = graphrag_bench.SPEC.read("novel", graphrag_bench.GraphRAGBenchParams(source="Novel-44557"))
    assert (len(raw.documents), len(raw.rows)) == (1, 103)
    with pytest.raises(DataError, match="Novel-44557"):
        graphrag_bench.SPEC.read("novel", graphrag_bench.GraphRAGBenchParams(source="Novel-44556"))


def test_texts_and_questions_come_from_files_of_the_repository_on_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [{"corpus_name": f"Novel-{number}", "context": "Ann did it."} for number in (1, 2)]
    tables = {"Datasets/Questions/novel_questions.json": [QUESTION], "Datasets/Corpus/novel.json": texts}
    monkeypatch.setattr(hub_rows, "fetch", lambda table: tables[table.file])
    raw = graphrag_bench.SPEC.read("novel")
    assert [row.reference.evidence[0].doc_id for row in raw.rows] == ["Novel-1"]


def test_one_text_alone_is_read_and_a_file_of_another_form_is_one_line(own_data: Path) -> None:
    alone = {
        "graphrag_bench/novel_questions.json": [QUESTION],
        "graphrag_bench/novel.json": {"corpus_name": "Novel-1", "context": "x"},
    }
    assert len(load_own(own_data, graphrag_bench.SPEC, "novel", alone).documents) == 1
    for content in ([], "x", [{"corpus_name": "N"}]):
        with pytest.raises(DataError) as caught:
            load_own(own_data, graphrag_bench.SPEC, "novel", {"graphrag_bench/novel.json": content})
        assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match="Novel-1"):
        graphrag_bench.build(file_entries({"corpus_name": "Novel-2", "context": "x"}), file_entries(QUESTION))
