"""The contract of systems, for a router among two of which one asks further."""

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from harness.testing import SystemContract

pytestmark = [pytest.mark.slow, pytest.mark.long]


class TestRouterContract(SystemContract):
    name = "router"
    answer_params: ClassVar[Mapping[str, Any]] = {
        "routes": {"inference": {"system": "naive", "index": {"vectors": False}, "answer": {"search": "bm25"}}},
        "otherwise": {"system": "recursive", "answer": {"rounds": 2}},
    }
