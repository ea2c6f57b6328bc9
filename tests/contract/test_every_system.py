"""The contract of systems, for every one that is registered."""

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


def contract(name: str) -> type:
    own = {"name": name, "answer_params": PARAMS.get(name, {}), "retrieves": name != "closed-book"}
    return type(f"Test_{name}", (SystemContract,), own)


# What needs a target is no system yet: tests/systems/pipelines.
globals().update({f"Test_{name}": contract(name) for name in SYSTEMS.names() if SYSTEMS.load(name).at is None})


def test_some_systems_are_registered() -> None:
    assert "naive" in SYSTEMS.names()
