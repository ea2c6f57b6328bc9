import json
from pathlib import Path

import pytest

from harness.core.errors import DataError
from harness.datasets.multihop_rag import SPEC
from harness.protocols import RawDataset

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


def without(row: dict[str, object], field: str) -> dict[str, object]:
    return {name: value for name, value in row.items() if name != field}


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


@pytest.mark.parametrize(
    ("corpus", "queries", "word"),
    [
        *(([ARTICLE], [QUERY, without(QUERY, name)], f"MultiHopRAG.json row 2: field '{name}'") for name in QUERY),
        *(([without(ARTICLE, name)], [QUERY], f"corpus.json row 1: field '{name}'") for name in ("url", "body")),
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
