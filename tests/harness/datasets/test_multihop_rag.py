import gzip
import json
from pathlib import Path

import pytest

from harness.core.errors import DataError
from harness.datasets import local_files
from harness.datasets.multihop_rag import SPEC
from harness.protocols import RawDataset

from .conftest import LoadReal


@pytest.fixture
def real(load_real: LoadReal) -> RawDataset:
    return load_real(SPEC, "default")


def test_plain_files_give_the_same_as_the_gzip_ones(real: RawDataset, data_folder: Path, own_data: Path) -> None:
    (own_data / "multihop_rag").mkdir()
    for name in ("corpus.json", "MultiHopRAG.json"):
        path = local_files.find_in(data_folder / "multihop_rag", name)
        assert path
        (own_data / "multihop_rag" / name).write_text(local_files.read_text(path), encoding="utf-8")
    assert SPEC.load("default") == real


def test_a_real_file_cut_short_is_one_line(data_folder: Path, own_data: Path) -> None:
    (own_data / "multihop_rag").mkdir()
    path = local_files.find_in(data_folder, "multihop_rag/corpus.json")
    assert path
    text = local_files.read_text(path).encode()
    packed = own_data / "multihop_rag" / "corpus.json.gz"
    packed.write_bytes(gzip.compress(text, 1)[:100_000])
    with pytest.raises(DataError, match="not intact gzip"):
        SPEC.load("default")
    packed.unlink()
    (own_data / "multihop_rag" / "corpus.json").write_bytes(text[:1_000_000])
    with pytest.raises(DataError, match="truncated or not JSON"):
        SPEC.load("default")


ARTICLE: dict[str, object] = {
    "title": "T",
    "author": None,
    "source": "S",
    "published_at": "2024-01-01T00:00:00+00:00",
    "category": "c",
    "url": "u1",
    "body": "Some fact.",
}
QUERY: dict[str, object] = {
    "query": "What?",
    "answer": "That",
    "question_type": "inference_query",
    "evidence_list": [{"url": "u1", "fact": "fact"}],
}


def load_own(folder: Path, corpus: object, queries: object) -> RawDataset:
    (folder / "multihop_rag").mkdir()
    (folder / "multihop_rag" / "corpus.json").write_text(json.dumps(corpus))
    (folder / "multihop_rag" / "MultiHopRAG.json").write_text(json.dumps(queries))
    return SPEC.load("default")


def test_a_small_file_of_this_schema_loads(own_data: Path) -> None:
    raw = load_own(own_data, [ARTICLE], [QUERY])
    assert raw.documents[0].metadata == {
        "source": "S",
        "category": "c",
        "published_at": "2024-01-01T00:00:00+00:00",
        "url": "u1",
    }
    assert raw.rows[0].reference.query_type == "inference"


@pytest.mark.parametrize("field", ["query", "answer", "question_type", "evidence_list"])
def test_a_query_without_a_field_is_one_line_that_names_file_row_and_field(own_data: Path, field: str) -> None:
    broken = {name: value for name, value in QUERY.items() if name != field}
    with pytest.raises(DataError) as caught:
        load_own(own_data, [ARTICLE], [QUERY, broken])
    for word in ("MultiHopRAG.json row 2", f"'{field}'"):
        assert word in str(caught.value)


@pytest.mark.parametrize("field", ["url", "body"])
def test_an_article_without_a_field_is_one_line_that_names_file_row_and_field(own_data: Path, field: str) -> None:
    broken = {name: value for name, value in ARTICLE.items() if name != field}
    with pytest.raises(DataError) as caught:
        load_own(own_data, [broken], [QUERY])
    for word in ("corpus.json row 1", f"'{field}'"):
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("corpus", "queries", "word"),
    [
        ([ARTICLE, ARTICLE], [QUERY], "url u1 occurs twice"),
        ([ARTICLE | {"url": "u2"}], [QUERY], "evidence u1 is not in the corpus"),
        ([ARTICLE], [QUERY | {"evidence_list": "u1"}], "must be a list"),
        ([ARTICLE], [QUERY | {"evidence_list": [{"url": "u1"}]}], "evidence_list row 1: field 'fact' is missing"),
        ([ARTICLE], [QUERY | {"query": ["What?"]}], "field 'query' must be text, not an array"),
        ([ARTICLE], [QUERY | {"query": "\ud800"}], "surrogate"),
        ({"articles": []}, [QUERY], "expected an array"),
        ([], [QUERY], "has no rows"),
    ],
)
def test_files_that_contradict_the_schema_are_one_line(
    own_data: Path, corpus: object, queries: object, word: str
) -> None:
    with pytest.raises(DataError) as caught:
        load_own(own_data, corpus, queries)
    assert word in str(caught.value)
    assert "\n" not in str(caught.value)
