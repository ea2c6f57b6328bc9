"""Which parameter a server refuses, in the words of those that are in use."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.models.parameter_adapter import refused_parameter

SENT = ("temperature", "max_tokens", "seed", "response_format")
TABLE = Path(__file__).with_name("refusals_of_servers.jsonl").read_text(encoding="utf-8")
CASES = [json.loads(line) for line in TABLE.splitlines()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["server"])
def test_what_a_server_refuses_is_read_from_its_own_words(case: dict[str, Any]) -> None:
    found = refused_parameter(json.dumps(case["body"]).encode(), SENT)
    assert found == (tuple(case["refused"]) if case["refused"] else None)
    assert refused_parameter(json.dumps(case["body"]).encode(), ("min_p",)) is None
