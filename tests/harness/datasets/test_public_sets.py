"""What becomes of the rows of public data sets, from small files and from the hub, and damaged rows."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import DataError
from harness.datasets import (
    graphrag_bench,
    hub_rows,
    local_files,
    ms_marco,
    multihop_rag,
    nq_open,
    rag_12000,
    uda_qa,
)
from harness.datasets.multihop_wiki import HOTPOTQA, MUSIQUE, TWO_WIKI
from harness.protocols import DatasetSpec, RawDataset

from .conftest import LoadReal, file_entries

Row = Mapping[str, Any]
NULL = ("Insufficient information.",)


def load_own(folder: Path, spec: DatasetSpec, subset: str, files: Mapping[str, object]) -> RawDataset:
    """Load a data set from these files in the data directory; a list is JSON Lines or CSV if the name says so."""
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        rows: Any = content if name.endswith((".jsonl", ".csv")) and isinstance(content, list) else [content]
        if name.endswith(".csv"):
            lines = ["|".join(rows[0]), *("|".join(row.values()) for row in rows)]
        else:
            lines = list(map(json.dumps, rows))
        (folder / name).write_text("\n".join(lines))
    return spec.read(subset)


ARTICLE: Row = {
    **{"title": "T", "author": None, "source": "S", "published_at": "2024-01-01T00:00:00+00:00"},
    **{"category": "c", "url": "u1", "body": "Some fact."},
}
QUERY: Row = {
    **{"query": "What?", "answer": "That", "question_type": "inference_query"},
    "evidence_list": [{"url": "u1", "fact": "fact"}],
}


def multihop_files(corpus: object, queries: object) -> dict[str, object]:
    return {"multihop_rag/corpus.json": corpus, "multihop_rag/MultiHopRAG.json": queries}


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


NOVEL_QUESTIONS = "graphrag_bench/novel_questions.json"


def test_one_text_alone_is_a_corpus(own_data: Path) -> None:
    alone = {"corpus_name": "Novel-1", "context": "x"}
    files = {NOVEL_QUESTIONS: [QUESTION], "graphrag_bench/novel.json": alone}
    assert len(load_own(own_data, graphrag_bench.SPEC, "novel", files).documents) == 1


# MS MARCO, rag_12000 and NQ-open


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


# Damaged rows

WRONG = [{**ARTICLE, "url": "u2"}]
NO_FACT = {**QUERY, "evidence_list": [{"url": "u1"}]}
MARCO, RAG = "ms_marco/ms_marco_v1.1_train_sample200.json", "neural_bridge/rag_dataset_12000_train_head100.jsonl"
NQ_ROW = {"doc_name": "P", "q_uid": "1", "question": "q?", "short_answer": "", "long_answer": "a"}
FETA_ROW = {"doc_name": "P", "q_uid": "7", "question": "q?", "answer": "a", "doc_url": "http://x/y"}
DAMAGED: list[tuple[DatasetSpec, str, Mapping[str, object], str]] = [
    *(
        (multihop_rag.SPEC, "default", multihop_files(corpus, queries), word)
        for corpus, queries, word in (
            ([ARTICLE], [QUERY, {**QUERY, "answer": None}], "MultiHopRAG.json row 2: field 'answer'"),
            ([{"body": "b"}], [QUERY], "corpus.json row 1: field 'url'"),
            ([ARTICLE, ARTICLE], [QUERY], "url u1 occurs twice"),
            (WRONG, [QUERY], "evidence u1 is not in the corpus"),
            ([ARTICLE], [NO_FACT], "evidence_list row 1: field 'fact' is missing"),
            ([ARTICLE], [{**QUERY, "query": "\ud800"}], "surrogate"),
            ({"articles": []}, [QUERY], "corpus.json line 1: field 'url'"),
            ([], [QUERY], "has no rows"),
        )
    ),
    *(
        (spec, "validation", {ORIGINAL[spec]: [{**row, **changes}]}, word)
        for spec, row, changes, word in (
            (HOTPOTQA, HOTPOT, {"supporting_facts": [["Dan", 0]]}, "'Dan' is no paragraph of the question"),
            (HOTPOTQA, HOTPOT, {"context": "[]"}, "'context'"),
            (HOTPOTQA, HOTPOT, {"context": [["Ann"]]}, "context row 1"),
            (HOTPOTQA, HOTPOT, {"context": {"title": ["Ann"], "sentences": []}}, "context"),
            (HOTPOTQA, HOTPOT, {"supporting_facts": [["Ann", "1"]]}, "'sent_id'"),
            (MUSIQUE, MUSIQUE_ROW, {"paragraphs": [{"title": "A", "paragraph_text": "x"}]}, "'is_supporting'"),
            (MUSIQUE, MUSIQUE_ROW, {"answerable": False}, "answerable"),
        )
    ),
    *(
        (ms_marco.SPEC, "v1.1", {MARCO: [marco_row(), marco_row(**changes)]}, f"row 2{word}")
        for changes, word in (
            (
                {"passages": {"is_selected": [0], "passage_text": ["a", "b"], "url": ["u", "u"]}},
                ", passages: pass",
            ),
            ({"passages": {"is_selected": [0], "passage_text": ["a"]}}, ", passages: field 'url' is missing"),
            ({"passages": [{"is_selected": 0}]}, ", passages: expected an object, found an array"),
            ({"answers": "a"}, ": field 'answers' must be a list"),
            ({"wellFormedAnswers": [1]}, ": field 'wellFormedAnswers' must be a list of texts, not a number"),
            ({"query_id": 1.5}, ": field 'query_id' must be text"),
            ({"query": ""}, ": field 'query' is blank"),
        )
    ),
    (rag_12000.SPEC, "train", {RAG: [{"context": "c", "question": "q"}]}, "line 1: field 'answer' is missing"),
    (uda_qa.SPEC, "nq", {"uda_qa/nq_qa.csv": [NQ_ROW]}, "line 2: field 'doc_url' is missing"),
    *(
        (
            uda_qa.SPEC,
            "feta",
            {"uda_qa/feta_qa.csv": [FETA_ROW], uda_qa.BENCH_FILE: {"P": [{"q_uid": 7, "evidence": evidence}]}},
            f"bench_feta_qa.json line 1, P row 1, evidence: {word}",
        )
        for evidence, word in (
            ({"table_array": [["a"], [1]], "highlighted_cell_ids": []}, "field 'table_array' must be a list of"),
            ({"table_array": [], "highlighted_cell_ids": []}, "field 'table_array' is empty"),
            ({"table_array": [["a"]], "highlighted_cell_ids": [[1, 0]]}, "field 'highlighted_cell_ids' points"),
            ({"table_array": [["a"]], "highlighted_cell_ids": [0]}, "field 'highlighted_cell_ids' points"),
            ([], "expected an object"),
        )
    ),
    *(
        (graphrag_bench.SPEC, "novel", {NOVEL_QUESTIONS: [QUESTION], "graphrag_bench/novel.json": texts}, word)
        for texts, word in (
            ([], "has no rows"),
            ("x", "novel.json line 1: expected an object"),
            ([{"corpus_name": "N"}], "novel.json row 1: field 'context'"),
            ([{"corpus_name": "N", "context": "x"}], "no text is named 'Novel-1'"),
        )
    ),
]


@pytest.mark.parametrize(("spec", "subset", "files", "word"), DAMAGED)
def test_a_damaged_row_is_one_line_that_names_it(
    own_data: Path, spec: DatasetSpec, subset: str, files: Mapping[str, object], word: str
) -> None:
    with pytest.raises(DataError) as caught:
        load_own(own_data, spec, subset, files)
    assert word in str(caught.value)
    assert "\n" not in str(caught.value)
