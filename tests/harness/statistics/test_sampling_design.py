"""How queries came about: what they cite, and what each stands for."""

import pytest

from harness.core.records import Evidence, Reference
from harness.statistics.sampling_design import SamplingDesign, clusters_of


def citing(query_id: str, *doc_ids: str) -> Reference:
    evidence = tuple(Evidence(doc_id=doc_id, fact="It is so.") for doc_id in doc_ids)
    return Reference(query_id=query_id, query_type="t", answers=("Yes",), evidence=evidence)


def test_a_query_belongs_to_the_document_that_most_queries_cite() -> None:
    references = [
        citing("q1", "rare", "popular", "rare"),
        citing("q2", "popular"),
        citing("q3", "b", "a"),
        citing("q4"),
        citing("q5"),
    ]
    assert clusters_of(references) == {
        "q1": "document/popular",
        "q2": "document/popular",
        "q3": "document/a",
        "q4": "query/q4",
        "q5": "query/q5",
    }
    assert clusters_of(references[::-1]) == clusters_of(references)


def test_weights_are_1_on_average_and_sum_to_the_mix_by_type() -> None:
    types = {"q1": "a", "q2": "b", "q3": "b", "q4": "b"}
    found = SamplingDesign(types, {"a": 60, "b": 40}).weights(list(types), list(types), list(types))
    assert found is not None
    assert found.sum() == 4.0
    assert found[0] / found.sum() == pytest.approx(0.6)


def test_queries_of_one_type_have_one_number_and_without_a_type_there_is_none() -> None:
    known = SamplingDesign({"a0": "a", "b0": "b", "a1": "a"})
    numbers = known.type_numbers(["a1", "b0", "a0"])
    assert numbers is not None
    assert numbers[0] == numbers[2] != numbers[1]
    assert known.type_numbers(["a0", "gone"]) is None
