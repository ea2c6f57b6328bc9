"""The contract of systems, for every one that is registered."""

import pytest

from harness.registry import SYSTEMS
from harness.testing import SystemContract

pytestmark = [pytest.mark.slow, pytest.mark.long]

globals().update(
    {
        f"Test_{name}": type(f"Test_{name}", (SystemContract,), {"name": name, "retrieves": name != "closed-book"})
        for name in SYSTEMS.names()
        if SYSTEMS.load(name).at is None  # What needs a target is no system yet: tests/systems/pipelines.
    }
)


def test_some_systems_are_registered() -> None:
    assert "naive" in SYSTEMS.names()
