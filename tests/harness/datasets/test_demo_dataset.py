import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import DataError
from harness.datasets import demo, load_dataset, local_files
from harness.datasets.demo import SPEC
from harness.protocols import RawDataset


@pytest.fixture(scope="module")
def raw() -> RawDataset:
    return SPEC.load("default")


@pytest.fixture(scope="module")
def queries() -> list[dict[str, Any]]:
    """As they stand in the file, with what they say of the articles that they cite."""
    found: list[dict[str, Any]] = json.loads((demo._FOLDERS[0] / "demo" / "queries.json").read_text("utf-8"))
    return found


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


def test_every_fact_of_the_demo_stands_in_its_document_from_the_start_of_a_sentence_to_the_end_of_one(
    raw: RawDataset,
) -> None:
    texts = {document.doc_id: document.text for document in raw.documents}
    for row in raw.rows:
        for item in row.reference.evidence:
            whole = rf"""(?:^|[.!?]"?\s+){re.escape(item.fact)}(?<=[.!?"])(?=\s|$)"""
            assert re.search(whole, texts[item.doc_id]), (row.query.query_id, item.fact)


def test_every_document_but_the_four_distractors_is_evidence_for_at_least_five_queries(raw: RawDataset) -> None:
    cited = Counter(doc_id for row in raw.rows for doc_id in row.doc_ids)
    assert len({document.doc_id for document in raw.documents} - set(cited)) == 4
    assert min(cited.values()) >= 5


def test_what_the_demo_says_of_cited_articles_is_what_the_articles_say(queries: list[dict[str, Any]]) -> None:
    articles = {
        one["url"]: one for one in json.loads((demo._FOLDERS[0] / "demo" / "corpus.json").read_text("utf-8"))
    }
    for query in queries:
        for said in query["evidence_list"]:
            article = articles[said["url"]]
            assert {key: article[key] for key in said if key != "fact"} == {
                key: value for key, value in said.items() if key != "fact"
            }, query["query"]


def test_a_report_was_published_before_or_after_another_by_their_dates(queries: list[dict[str, Any]]) -> None:
    asked = [one for one in queries if one["evidence_list"] and "published before or after" in one["query"]]
    assert len(asked) >= 5
    for query in asked:
        first, second = (said["published_at"] for said in query["evidence_list"])
        assert query["answer"] == ("Before" if first < second else "After"), query["query"]


def test_every_query_but_the_null_ones_cites_at_least_two_documents(raw: RawDataset) -> None:
    for row in raw.rows:
        if row.reference.query_type == "null":
            assert row.reference.answers == ("Insufficient information.",)
            assert row.doc_ids == ()
        else:
            assert len(row.doc_ids) >= 2, row.query.query_id


def test_the_demo_has_120_queries_of_four_types_over_28_documents_all_different(raw: RawDataset) -> None:
    types = Counter(row.reference.query_type for row in raw.rows)
    assert types == {"inference": 35, "comparison": 35, "temporal": 35, "null": 15}
    assert len(raw.documents) == len({document.doc_id for document in raw.documents}) == 28
    assert len({document.text for document in raw.documents}) == 28
    assert [row.query.query_id for row in raw.rows] == [f"demo-{n:04d}" for n in range(1, 121)]
    assert len({row.query.text for row in raw.rows}) == 120


def test_the_demo_needs_no_data_directory(monkeypatch: pytest.MonkeyPatch, raw: RawDataset) -> None:
    monkeypatch.setenv(local_files.ENV, "/no/such/folder")
    assert load_dataset(SPEC).documents == raw.documents


def test_an_installed_wheel_finds_its_bundled_copy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, raw: RawDataset
) -> None:
    checkout, bundled = demo._FOLDERS
    assert bundled.parts[-3:] == ("harness", "_bundled", "data")
    shutil.copytree(checkout / "demo", tmp_path / "bundled" / "demo")
    monkeypatch.setattr(demo, "_FOLDERS", (tmp_path / "none", tmp_path / "bundled"))
    assert SPEC.load("default") == raw


def test_a_missing_demo_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(demo, "_FOLDERS", (tmp_path, tmp_path))
    with pytest.raises(DataError, match=r"file corpus\.json is missing in .*demo"):
        SPEC.load("default")
