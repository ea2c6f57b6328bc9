"""Runs of one system are told apart by what differs between them."""

from typing import Any

import pytest

from harness.report.labels import differences, labels, other_weights, shortened
from harness.store.run_labels import parameter_labels


def identity(
    system: str = "naive", version: str = "1", *, model: str = "gpt-4o-mini", **answer: Any
) -> dict[str, Any]:
    return {
        "schema": 1,
        "dataset": {"name": "demo", "digest": "d"},
        "system": {"name": system, "version": version, "index": {"chunk_size": 1200}, "answer": answer},
        "models": {
            "generator": {"provider": "local", "model": model, "weights_sha256": f"sha of {model}"},
            "embedder": {"provider": "minilm", "model": "minilm"},
        },
        "seed": 0,
    }


def hostile(value: Any) -> dict[str, Any]:
    return {"a\n\x1b[2Jb": value}


@pytest.mark.parametrize(
    ("identities", "expected"),
    [
        # A system alone is called by its name; two runs of it show the parameter that differs.
        ([identity(top_k=4), identity("kg", top_k=8)], ["naive", "kg"]),
        ([identity(top_k=4), identity(top_k=8), identity("kg")], ["naive top_k=4", "naive top_k=8", "kg"]),
        # No more parameters are shown than it takes to tell runs apart.
        ([identity(a=1, b=1), identity(a=2, b=2)], ["naive a=1", "naive a=2"]),
        (
            [identity(a=1, b=1), identity(a=1, b=2), identity(a=2, b=1)],
            ["naive a=1 b=1", "naive a=1 b=2", "naive a=2 b=1"],
        ),
        # What is chosen by name tells more than the size that goes with it.
        (
            [identity(context_tokens=3000, mode="global"), identity(context_tokens=900, mode="local")],
            ["naive mode=global", "naive mode=local"],
        ),
        # Models are named by their role, and digests are left out.
        (
            [identity(model="small"), identity(model="large")],
            ["naive generator.model=small", "naive generator.model=large"],
        ),
        ([identity(version="1"), identity(version="2")], ["naive version=1", "naive version=2"]),
        ([identity(top_k=4), identity()], ["naive top_k=4", "naive top_k=-"]),
        ([identity(rerank=True), identity(rerank=1)], ["naive rerank=true", "naive rerank=1"]),
        ([identity(prompt="a\n| b\x1b[31m"), identity(prompt="c")], ["naive prompt=a | b [31m", "naive prompt=c"]),
        ([identity(**hostile(1)), identity(**hostile(2))], ["naive a [2Jb=1", "naive a [2Jb=2"]),
    ],
)
def test_labels_show_the_parameters_that_distinguish_runs(
    identities: list[dict[str, Any]], expected: list[str]
) -> None:
    assert labels(identities) == expected


def test_shortened_labels_of_a_sweep_over_several_parameters_differ() -> None:
    sweep = [
        identity(search=search, headings=headings, rerank=rerank, chunks_of_neighbours=1)
        for search in ("dense", "bm25", "hybrid")
        for headings in (False, True)
        for rerank in ("none", "ms-marco-minilm-l12")
    ]
    found = labels(sweep)
    assert "naive search=bm25 headings=true rerank=none" in found
    assert len({shortened(label) for label in found}) == len(sweep)
    long = [identity(a="p" * 20 + "1", b="q" * 30, c="r" * 20 + "1"), identity(a="p" * 20 + "2", b="s", c="r")]
    assert len({shortened(label) for label in labels(long)}) == 2


def test_values_that_look_alike_once_shortened_are_numbered() -> None:
    found = labels([identity(prompt="x" * 100 + "1"), identity(prompt="x" * 100 + "2")])
    assert len(set(found)) == 2
    assert all(len(label) < 60 for label in found)


def test_differences_list_everything_but_digests_and_the_data_set() -> None:
    found = differences([identity(top_k=4, model="small"), identity("kg", top_k=8, model="large")])
    assert found == {"top_k": ["4", "8"], "generator.model": ["small", "large"]}
    assert differences([identity()]) == {}


def parsed(system: str, digest: str, **answer: Any) -> dict[str, Any]:
    return {**identity(system, **answer), "weights": {"parser-3.8": digest}}


def test_digests_of_weights_name_no_run_that_anything_else_tells_apart() -> None:
    two = [parsed("kg", "a" * 64, top_k=4), parsed("kg", "b" * 64, top_k=8)]
    assert labels(two) == ["kg top_k=4", "kg top_k=8"]
    assert differences([parsed("kg", "a" * 64, top_k=4), identity("naive", top_k=8)]) == {"top_k": ["4", "8"]}
    first, second = labels([parsed("kg", "a" * 64), parsed("kg", "b" * 64)])
    assert first != second


def test_weights_that_changed_under_one_name_are_named_and_those_of_another_model_are_not() -> None:
    assert other_weights([parsed("kg", "a" * 64), parsed("kg", "b" * 64)]) == ["parser-3.8"]
    assert other_weights([parsed("kg", "a" * 64), identity("naive")]) == []
    assert other_weights([identity(model="small"), identity(model="large")]) == []
    changed = identity()
    changed["models"]["generator"]["weights_sha256"] = "another"
    assert other_weights([identity(), changed]) == ["models.generator"]
    imported = [{**identity(), "imported": {"rows_sha256": digest * 64}} for digest in "ab"]
    assert other_weights(imported) == []


def test_a_label_also_tells_a_run_from_that_of_another_stage() -> None:
    searches = [identity(search="bm25", top_k=8), identity(search="hybrid", top_k=8)]
    answers = [identity(search="hybrid", top_k=3, model="none"), identity("kg", model="none")]
    assert parameter_labels(answers, searches) == ["naive search=hybrid top_k=3", "kg"]
    assert parameter_labels(searches, answers) == ["naive search=bm25 top_k=8", "naive search=hybrid top_k=8"]
    # The model differs between all of them.
    assert parameter_labels([identity(top_k=8)], [identity(top_k=8, model="none")]) == ["naive"]
