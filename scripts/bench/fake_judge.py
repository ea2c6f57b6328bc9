"""Replies of a fake judge: for JSON, a value that the schema allows, with verdicts 0 or 1.

The harness sends the schema beside the prompt, ragas writes it into the prompt. A request without a schema expects
a rating and gets a 1.
"""

import json
from typing import Any

from harness.models.fake_json import example_of
from harness.models.fake_model import FakeModel, FakeScript

_IN_PROMPT = "specified in JSON Schema:\n"
_EMBEDS = FakeModel(FakeScript())


def respond(path: str, body: bytes) -> bytes:
    """The reply to one request of OpenAI's protocol."""
    if path.endswith("/embeddings"):
        return _EMBEDS.respond(path, body).body
    request = json.loads(body)
    prompt = "\n".join(str(one["content"]) for one in request["messages"])
    schema = _schema_of(request, prompt)
    text = "1" if schema is None else json.dumps(example_of(_with_verdicts(schema), prompt))
    message = {"role": "assistant", "content": text}
    return json.dumps(
        {
            "id": "fake",
            "object": "chat.completion",
            "created": 0,
            "model": "fake",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 400, "completion_tokens": 20, "total_tokens": 420},
        }
    ).encode()


def _schema_of(request: dict[str, Any], prompt: str) -> Any:
    if wanted := request.get("response_format"):
        return wanted["json_schema"]["schema"]
    _, _, behind = prompt.partition(_IN_PROMPT)
    return json.JSONDecoder().raw_decode(behind)[0] if behind else None


def _with_verdicts(schema: Any) -> Any:
    """Restrict every unbounded number to a verdict, 0 or 1."""
    if isinstance(schema, list):
        return [_with_verdicts(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    held = {key: _with_verdicts(value) for key, value in schema.items()}
    if schema.get("type") == "integer" and not {"enum", "minimum", "maximum"} & schema.keys():
        held["enum"] = [0, 1]
    return held
