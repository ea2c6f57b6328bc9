"""The contract of systems, for every one that is registered."""

import inspect
from typing import Any

import pytest

from harness.registry import SYSTEMS
from harness.testing import SystemContract

pytestmark = [pytest.mark.slow, pytest.mark.long]
# The router asks two systems, of which one asks further.
PARAMS: dict[str, Any] = {
    "router": {
        "routes": {"inference": {"system": "naive", "index": {"vectors": False}, "answer": {"search": "bm25"}}},
        "otherwise": {"system": "recursive", "answer": {"rounds": 2}},
    }
}


@pytest.fixture(autouse=True)
def _workers(request: pytest.FixtureRequest) -> None:
    """Workers of runs are processes for one system, and in this process for the others."""
    if request.cls is not None and request.cls.name != "naive":
        request.getfixturevalue("workers_here")


FIRST = {"naive", "kg", "cypher-agent", "gold"}
"""Of the systems that share a kind of index, those that meet the clauses about it; the statements of cypher-agent
run in processes of their own.
"""


def stands_for_its_index(name: str) -> bool:
    kinds = [SYSTEMS.load(other).stored_index_kind for other in SYSTEMS.names()]
    return name in FIRST or kinds.count(SYSTEMS.load(name).stored_index_kind) == 1


def is_about_an_index(clause: str) -> bool:
    """Whether processes are killed or share an index to test it, or it has to be large."""
    parameters = inspect.signature(getattr(SystemContract, clause)).parameters
    return bool({"rebuilt", "side_by_side"} & {*parameters}) or "megabyte" in clause


def contract(name: str) -> type:
    own = {"name": name, "answer_params": PARAMS.get(name, {}), "retrieves": name != "closed-book"}
    clauses = [clause for clause in dir(SystemContract) if clause.startswith("test_")]
    left_out = () if stands_for_its_index(name) else filter(is_about_an_index, clauses)
    return type(f"Test_{name}", (SystemContract,), {**own, **dict.fromkeys(left_out)})


# What needs a target is no system yet: tests/systems/pipelines.
globals().update({f"Test_{name}": contract(name) for name in SYSTEMS.names() if SYSTEMS.load(name).at is None})


def test_some_systems_are_registered() -> None:
    assert "naive" in SYSTEMS.names()
