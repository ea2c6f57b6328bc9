"""Runs of one system are told apart by what differs between them."""

from typing import Any

from harness.report.labels import differences, labels, other_weights, shortened


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


def test_a_system_alone_is_called_by_its_name() -> None:
    assert labels([identity(top_k=4), identity("kg", top_k=8)]) == ["naive", "kg"]


def test_two_runs_of_a_system_show_the_parameter_that_differs() -> None:
    assert labels([identity(top_k=4), identity(top_k=8), identity("kg")]) == [
        "naive top_k=4",
        "naive top_k=8",
        "kg",
    ]


def test_no_more_parameters_are_shown_than_it_takes_to_tell_runs_apart() -> None:
    assert labels([identity(a=1, b=1), identity(a=2, b=2)]) == ["naive a=1", "naive a=2"]
    assert labels([identity(a=1, b=1), identity(a=1, b=2), identity(a=2, b=1)]) == [
        "naive a=1 b=1",
        "naive a=1 b=2",
        "naive a=2 b=1",
    ]


def test_what_is_chosen_by_name_tells_more_than_the_size_that_goes_with_it() -> None:
    found = labels([identity(context_tokens=3000, mode="global"), identity(context_tokens=900, mode="local")])
    assert found == ["naive mode=global", "naive mode=local"]


def test_models_are_named_by_their_role_and_digests_are_left_out() -> None:
    found = labels([identity(model="small"), identity(model="large")])
    assert found == ["naive generator.model=small", "naive generator.model=large"]


def test_another_version_of_a_system_is_another_run() -> None:
    assert labels([identity(version="1"), identity(version="2")]) == ["naive version=1", "naive version=2"]


def test_a_parameter_that_only_one_run_has_is_shown_as_missing_in_the_other() -> None:
    assert labels([identity(top_k=4), identity()]) == ["naive top_k=4", "naive top_k=-"]


def test_what_a_sentence_calls_runs_of_a_sweep_over_several_parameters_tells_them_apart() -> None:
    sweep = [
        identity(search=search, headings=headings, rerank=rerank, chunks_of_neighbours=1)
        for search in ("dense", "bm25", "hybrid")
        for headings in (False, True)
        for rerank in ("none", "ms-marco-minilm-l12")
    ]
    found = labels(sweep)
    assert "naive headings=true rerank=none search=bm25" in found
    assert len({shortened(label) for label in found}) == len(sweep)
    beyond = [identity(**{f"parameter_{number}": value for number in range(5)}) for value in "xy" * 1]
    alike = labels(
        [identity(a="p" * 20 + "1", b="q" * 30, c="r" * 20 + "1"), identity(a="p" * 20 + "2", b="s", c="r")]
    )
    assert len({shortened(label) for label in [*labels(beyond), *alike]}) == 4


def test_values_that_look_alike_once_shortened_are_numbered() -> None:
    found = labels([identity(prompt="x" * 100 + "1"), identity(prompt="x" * 100 + "2")])
    assert len(set(found)) == 2
    assert all(len(label) < 60 for label in found)


def test_true_and_one_are_different_values() -> None:
    assert labels([identity(rerank=True), identity(rerank=1)]) == ["naive rerank=true", "naive rerank=1"]


def test_a_hostile_value_stays_on_one_short_line() -> None:
    found = labels([identity(prompt="a\n| b\x1b[31m"), identity(prompt="c")])
    assert found[0] == "naive prompt=a | b [31m"


def test_differences_list_everything_but_digests_and_the_data_set() -> None:
    found = differences([identity(top_k=4, model="small"), identity("kg", top_k=8, model="large")])
    assert found == {"top_k": ["4", "8"], "generator.model": ["small", "large"]}
    assert differences([identity()]) == {}


def parsed(system: str, digest: str, **answer: Any) -> dict[str, Any]:
    return {**identity(system, **answer), "weights": {"parser-3.8": digest}}


def test_digests_of_weights_name_no_run_that_anything_else_tells_apart() -> None:
    assert labels([parsed("kg", "a" * 64, top_k=4), parsed("kg", "b" * 64, top_k=8)]) == [
        "kg top_k=4",
        "kg top_k=8",
    ]
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


def test_a_hostile_name_of_a_parameter_is_only_letters() -> None:
    one, other = identity(), identity()
    one["system"]["answer"], other["system"]["answer"] = {"a\n\x1b[2Jb": 1}, {"a\n\x1b[2Jb": 2}
    assert labels([one, other])[0] == "naive a [2Jb=1"
