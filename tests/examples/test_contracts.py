"""Each example keeps the contract of its kind, by the tests that lie in its own package."""

from collections.abc import Callable

import pytest
from command_line import CommandLine
from strangers import EXAMPLES, keeps_its_contract

from harness import testing

pytestmark = [pytest.mark.slow, pytest.mark.long]
CONTRACTS = {"system": "SystemContract", "dataset": "DatasetContract", "evaluator": "EvaluatorContract"}


@pytest.mark.parametrize(("kind", "contract"), CONTRACTS.items())
def test_it_keeps_its_contract(stranger: Callable[..., CommandLine], kind: str, contract: str) -> None:
    clauses = [name for name in dir(getattr(testing, contract)) if name.startswith("test_")]
    found = keeps_its_contract(stranger(kind), EXAMPLES / kind)
    assert found.total() >= len(clauses) > 0
    assert found["passed"] > found["skipped"]
