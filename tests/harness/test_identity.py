"""Canonical JSON and its hash: what makes two runs the same run."""

import json
import math
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.identity import canonical_json, digest, short_digest

TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def turned_round(value: Any) -> Any:
    """The same value with the keys of every mapping in the opposite order."""
    if isinstance(value, dict):
        return {key: turned_round(inner) for key, inner in reversed(value.items())}
    return [turned_round(inner) for inner in value] if isinstance(value, list) else value


@settings(deadline=None)
@given(TREES)
def test_the_order_of_keys_does_not_matter_at_any_depth(value: Any) -> None:
    assert canonical_json(turned_round(value)) == canonical_json(value)


@settings(deadline=None)
@given(TREES)
def test_canonical_json_means_the_value_it_was_made_from(value: Any) -> None:
    assert json.loads(canonical_json(value)) == value


def test_the_order_of_lists_matters() -> None:
    assert digest([1, 2]) != digest([2, 1])


def test_a_tuple_is_spelt_as_a_list_so_that_a_stored_identity_compares_equal() -> None:
    assert canonical_json({"a": (1, 2)}) == canonical_json({"a": [1, 2]})


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_have_no_canonical_spelling(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"deep": [{"in": number}]})


def test_what_is_no_json_is_refused_and_not_spelt_somehow() -> None:
    with pytest.raises(TypeError):
        canonical_json({"when": object()})


def test_the_spelling_has_no_spaces_and_keeps_letters_readable() -> None:
    assert canonical_json({"b": [1, 1.5, None, True], "a": "Å\n"}) == '{"a":"Å\\n","b":[1,1.5,null,true]}'


def test_the_digest_of_a_known_value_never_changes() -> None:
    """Pinned: a change here gives every stored run another id."""
    value = {"system": {"name": "naive", "answer": {"top_k": 10}}, "seed": 0, "models": ["å", 0.1, None]}
    assert digest(value) == "ef58b6dd2dc1eeaddb996da3dc0e63e3480ef8aeface256faf49662544c274c1"


def test_the_digest_does_not_depend_on_the_process() -> None:
    """Python's own hash does: it is salted by PYTHONHASHSEED."""
    code = "from harness.identity import digest; print(digest({'b': 1, 'a': {'y': 2, 'x': [3]}}))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert seen == {digest({"a": {"x": [3], "y": 2}, "b": 1})}


def test_the_short_digest_is_the_beginning_of_the_long_one() -> None:
    assert short_digest("x") == digest("x")[:12]
