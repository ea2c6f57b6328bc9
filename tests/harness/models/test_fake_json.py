import json
from typing import Any

import pytest

from harness.models.fake_json import example_of
from harness.models.fake_model import FakeModel, FakeScript

PROMPT = "Ingrid Solvane runs Tidewright Power near Gull Sound."
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "names": {"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 6}},
        "many": {"type": "array", "minItems": 5, "items": {"$ref": "#/$defs/Point"}},
        "score": {"type": "integer", "minimum": 7, "maximum": 9},
        "share": {"type": "number", "minimum": 1, "maximum": 2},
        "kind": {"enum": ["person", "place"]},
        "fixed": {"const": 4},
        "maybe": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
    },
    "$defs": {"Point": {"type": "object", "properties": {"name": {"type": "string"}}}},
}


def test_every_value_is_one_that_the_schema_admits() -> None:
    value = example_of(SCHEMA, PROMPT)
    assert value.keys() == SCHEMA["properties"].keys()
    assert len(value["names"]) == 2
    assert all(len(name) <= 6 and name in PROMPT for name in value["names"])
    assert len(value["many"]) == 5
    assert all(point["name"] in PROMPT for point in value["many"])
    assert value["score"] in {7, 8, 9}
    assert 1 <= value["share"] <= 2
    assert value["kind"] in {"person", "place"}
    assert value["fixed"] == 4
    assert value["maybe"] in {True, False}


def test_the_same_prompt_gives_the_same_value_and_another_another() -> None:
    assert example_of(SCHEMA, PROMPT) == example_of(SCHEMA, PROMPT)
    assert len({json.dumps(example_of(SCHEMA, f"{PROMPT} {n}")) for n in range(20)}) > 10


def test_a_prompt_without_a_name_still_gets_a_value() -> None:
    assert example_of({"type": "string"}, "who?") == "Yes"


@pytest.mark.parametrize(("script", "parses"), [(FakeScript(), True), (FakeScript(reply="prose"), False)])
def test_the_fake_answers_a_schema_with_json_unless_its_script_says_otherwise(
    script: FakeScript, parses: bool
) -> None:
    request = {
        "messages": [{"role": "user", "content": PROMPT}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA}},
    }
    reply = json.loads(FakeModel(script).respond("/v1/chat/completions", json.dumps(request).encode()).body)
    content = reply["choices"][0]["message"]["content"]
    assert content.startswith("{") == parses
    assert (not parses) or json.loads(content).keys() == SCHEMA["properties"].keys()
