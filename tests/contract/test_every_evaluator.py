"""The contract of evaluators, for every one that is registered."""

import pytest

from harness.core.errors import HarnessError
from harness.registry import EVALUATORS
from harness.testing import EvaluatorContract

pytestmark = pytest.mark.slow


class Registered(EvaluatorContract):
    """One whose packages are installed, or that cannot be tested."""

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def its_packages(cls) -> None:
        spec = EVALUATORS.load(cls.name)
        try:
            if spec.preflight:
                spec.preflight(spec.params())
        except HarnessError as error:
            pytest.skip(str(error))


globals().update(
    {f"Test_{name}": type(f"Test_{name}", (Registered,), {"name": name}) for name in EVALUATORS.names()}
)
