"""Whether another machine is what this one is."""

from dataclasses import replace
from typing import Any

import pytest

from harness.extensions.ray.cluster import Installed, differs, installed, other_packages, read_if_visible

OURS = Installed("1.0", "ab12", "3.11", {"numpy": "2.2", "chromadb": "1.5.9"})


def test_a_machine_is_the_same_as_itself() -> None:
    assert differs(installed(), installed()) == ""
    assert other_packages(installed(), installed()) == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"project": "0.9"}, "has version 0.9 of rag-bench-harness, this machine 1.0"),
        ({"code": "cd34"}, "has other code of rag-bench-harness 1.0"),
        ({"python": "3.12"}, "runs Python 3.12, this machine 3.11"),
    ],
)
def test_what_makes_a_worker_do_something_else_is_said(change: dict[str, Any], said: str) -> None:
    assert said in differs(replace(OURS, **change), OURS)


def test_packages_of_other_versions_are_named_and_those_of_one_machine_alone_are_not() -> None:
    theirs = replace(OURS, packages={"numpy": "2.4", "chromadb": "1.5.9", "torch": "2.13"})
    assert other_packages(theirs, OURS) == "numpy 2.4 (2.2 here)"
    many = {f"package-{number}": "1" for number in range(9)}
    shown = other_packages(replace(OURS, packages=many), replace(OURS, packages=dict.fromkeys(many, "2")))
    assert shown.endswith("package-4 1 (2 here) and 4 more")


def test_a_file_that_is_not_to_be_seen_holds_nothing(tmp_path: object) -> None:
    assert read_if_visible(f"{tmp_path}/none") is None
