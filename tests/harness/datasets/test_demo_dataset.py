import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from harness.core.errors import DataError
from harness.datasets import demo, load_dataset, local_files
from harness.datasets.demo import SPEC
from harness.protocols import RawDataset


@pytest.fixture(scope="module")
def raw() -> RawDataset:
    return SPEC.load("default")


def test_no_answer_given_to_every_query_of_the_demo_is_right_often(raw: RawDataset) -> None:
    answers = {
        query_type: Counter(row.reference.answers[0] for row in raw.rows if row.reference.query_type == query_type)
        for query_type in ("inference", "comparison", "temporal", "null")
    }
    assert max(sum(answers.values(), Counter()).values()) <= 0.2 * len(raw.rows)
    assert max(answers["inference"].values()) <= 3
    for query_type in ("comparison", "temporal"):
        given = answers[query_type]
        assert max(given.values()) <= 0.35 * given.total(), query_type
        assert given["Yes"] == given["No"], query_type
    assert answers["temporal"]["Before"] == answers["temporal"]["After"]


def test_every_fact_of_the_demo_is_a_sentence_of_its_document_and_every_query_cites_two(raw: RawDataset) -> None:
    texts = {document.doc_id: document.text for document in raw.documents}
    for row in raw.rows:
        for item in row.reference.evidence:
            whole = rf"""(?:^|[.!?]"?\s+){re.escape(item.fact)}(?<=[.!?"])(?=\s|$)"""
            assert re.search(whole, texts[item.doc_id]), (row.query.query_id, item.fact)
        if row.reference.query_type == "null":
            assert (row.reference.answers, row.doc_ids) == (("Insufficient information.",), ())
        else:
            assert len(row.doc_ids) >= 2, row.query.query_id
    cited = Counter(doc_id for row in raw.rows for doc_id in row.doc_ids)
    assert len(set(texts) - set(cited)) == 4, "the distractors"
    assert min(cited.values()) >= 5


def test_the_queries_of_the_demo_agree_with_the_articles_that_they_cite() -> None:
    found = ((demo._FOLDERS[0] / "demo" / name).read_text("utf-8") for name in ("corpus.json", "queries.json"))
    corpus, queries = map(json.loads, found)
    articles = {one["url"]: one for one in corpus}
    for query in queries:
        for said in query["evidence_list"]:
            assert said.items() <= {**articles[said["url"]], "fact": said["fact"]}.items(), query["query"]
    asked = [one for one in queries if one["evidence_list"] and "published before or after" in one["query"]]
    assert len(asked) >= 5
    for query in asked:
        first, second = (said["published_at"] for said in query["evidence_list"])
        assert query["answer"] == ("Before" if first < second else "After"), query["query"]


def test_the_demo_has_120_queries_of_four_types_over_28_documents_all_different(raw: RawDataset) -> None:
    types = Counter(row.reference.query_type for row in raw.rows)
    assert types == {"inference": 35, "comparison": 35, "temporal": 35, "null": 15}
    assert len(raw.documents) == len({document.text for document in raw.documents}) == 28
    assert [row.query.query_id for row in raw.rows] == [f"demo-{n:04d}" for n in range(1, 121)]
    assert len({row.query.text for row in raw.rows}) == 120


def test_the_demo_needs_no_data_directory_and_a_wheel_finds_its_bundled_copy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, raw: RawDataset
) -> None:
    monkeypatch.setenv(local_files.ENV, "/no/such/folder")
    assert load_dataset(SPEC).documents == raw.documents
    checkout, bundled = demo._FOLDERS
    assert bundled.parts[-3:] == ("harness", "_bundled", "data")
    shutil.copytree(checkout / "demo", tmp_path / "bundled" / "demo")
    monkeypatch.setattr(demo, "_FOLDERS", (tmp_path / "none", tmp_path / "bundled"))
    assert SPEC.load("default") == raw
    monkeypatch.setattr(demo, "_FOLDERS", (tmp_path, tmp_path))
    with pytest.raises(DataError, match=r"file corpus\.json is missing in .*demo"):
        SPEC.load("default")
