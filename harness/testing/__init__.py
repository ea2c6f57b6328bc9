"""The plug-in contracts as test suites: `pip install 'rag-bench-harness[testing]'`.

```python
from harness.testing import DatasetContract, EvaluatorContract, SystemContract

class TestBM25(SystemContract):
    name = "bm25"
```
pytest collects the inherited tests. The plug-in is found by its entry point, so install your package first
(`pip install -e .`). No test needs a model, a key or the network.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.testing.datasets.contract import DatasetContract
    from harness.testing.evaluators.contract import EvaluatorContract
    from harness.testing.systems.contract import SystemContract

__all__ = ["DatasetContract", "EvaluatorContract", "SystemContract"]


def __getattr__(name: str) -> object:
    """Imports suites on demand: the processes that they start need no pytest."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import sys
    from importlib import import_module

    from harness.core.errors import need

    need("testing", "pytest")
    import pytest

    room = f"{__name__}.{name.removesuffix('Contract').lower()}s"
    if room not in sys.modules:
        pytest.register_assert_rewrite(room)
    return getattr(import_module(f"{room}.contract"), name)
