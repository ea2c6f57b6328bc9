"""The fake's reply to a request with a JSON schema: valid, determined by the prompt, and meaningless."""

import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

_NAME = re.compile(r"[A-Z]\w+(?: [A-Z]\w+)?")
_ITEMS = 3
"""Items of a list, if the schema allows as many."""


def example_of(schema: Mapping[str, Any], prompt: str) -> Any:
    """A value that matches `schema`: names from the prompt for strings, numbers within their bounds.

    Supports the features that requests here use: objects, arrays, strings, numbers, booleans, enum, const, anyOf,
    $ref.
    """
    words = _NAME.findall(prompt) or ["Yes"]
    seed = hashlib.sha256(prompt.encode(errors="surrogatepass")).hexdigest()
    return _Example(schema, words, random.Random(seed)).of(schema)  # noqa: S311 - a script, no secret


class _Example:
    def __init__(self, root: Mapping[str, Any], words: Sequence[str], draw: random.Random) -> None:
        self._root, self._words, self._draw = root, words, draw

    def of(self, schema: Mapping[str, Any]) -> Any:
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._draw.choice(schema["enum"])
        if "anyOf" in schema:
            return self.of(schema["anyOf"][0])
        if "$ref" in schema:
            return self.of(self._root["$defs"][schema["$ref"].rsplit("/", 1)[-1]])
        makers = {"object": self._object, "array": self._array, "integer": self._integer, "number": self._number}
        kind = str(schema.get("type", "string"))
        if kind in makers:
            return makers[kind](schema)
        return self._draw.random() < 0.5 if kind == "boolean" else self._string(schema)

    def _object(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        return {key: self.of(inner) for key, inner in schema.get("properties", {}).items()}

    def _array(self, schema: Mapping[str, Any]) -> list[Any]:
        wanted = max(schema.get("minItems", 0), min(schema.get("maxItems", _ITEMS), _ITEMS))
        return [self.of(schema.get("items", {})) for _ in range(wanted)]

    def _integer(self, schema: Mapping[str, Any]) -> int:
        low = int(schema.get("minimum", 0))
        return self._draw.randint(low, int(schema.get("maximum", low + 10)))

    def _number(self, schema: Mapping[str, Any]) -> float:
        return float(self._integer(schema))

    def _string(self, schema: Mapping[str, Any]) -> str:
        return self._draw.choice(self._words)[: schema.get("maxLength", 100)]
