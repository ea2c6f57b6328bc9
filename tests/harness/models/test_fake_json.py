from typing import Any

from harness.models.fake_model import example_of

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
