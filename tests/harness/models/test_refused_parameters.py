"""Which parameter a server refuses, in the words of those that are in use."""

import json
from typing import Any

import pytest

from harness.models.refused_parameters import refused_parameter

SENT = ("temperature", "max_tokens", "seed", "response_format")


def openai(message: str, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


RENAMED = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
)
EXTRA = {"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted", "input": 0}
REFUSED = {
    "OpenAI, another name": (
        openai(
            RENAMED,
            "max_tokens",
            "unsupported_parameter",
        ),
        ("max_tokens", "max_completion_tokens"),
    ),
    "OpenAI, a value": (
        openai(
            "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is "
            "supported.",
            "temperature",
            "unsupported_value",
        ),
        ("temperature", None),
    ),
    "Azure, an older version of its API": (openai("Unrecognized request argument supplied: seed"), ("seed", None)),
    "a proxy that keeps the sentence alone": (
        openai(
            RENAMED,
            code="invalid_request_body",
        ),
        ("max_tokens", "max_completion_tokens"),
    ),
    "vLLM": (
        {
            "object": "error",
            "message": "[{'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'msg': 'Extra inputs are ...'}]",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
        ("seed", None),
    ),
    "Mistral": ({"object": "error", "message": {"detail": [EXTRA]}, "param": None}, ("seed", None)),
    "FastAPI": ({"detail": [EXTRA]}, ("seed", None)),
    "LiteLLM": (
        openai(
            "litellm.UnsupportedParamsError: gpt-5 models don't support temperature=0.0. Only temperature=1 is "
            "supported. To drop unsupported params set `litellm.drop_params = True`"
        ),
        ("temperature", None),
    ),
    "Groq": (openai("property 'seed' is unsupported"), ("seed", None)),
    "Google": (
        [
            {
                "error": {
                    "code": 400,
                    "message": 'Invalid JSON payload received. Unknown name "seed": Cannot find field.',
                }
            }
        ],
        ("seed", None),
    ),
    "Anthropic, deprecated": (
        {"type": "error", "error": {"message": "`temperature` is deprecated for this model."}},
        ("temperature", None),
    ),
    "Ollama": ({"error": {"message": "response_format json_schema is not supported"}}, ("response_format", None)),
}
NOT_REFUSED = {
    "a value that is too large": openai(
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens.",
        "max_tokens",
        "invalid_value",
    ),
    "two that exclude each other": openai(
        "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
    ),
    "a prompt that is too long": openai(
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8744 in the "
        "messages, 256 in max_tokens).",
        "messages",
        "context_length_exceeded",
    ),
    "a parameter of the user's": openai("Unknown parameter: 'top_k'.", "top_k", "unknown_parameter"),
    "a schema that cannot be": openai(
        "Invalid schema for response_format 'reply': 'minLength' is not permitted.", "response_format"
    ),
    "a limit without another name for it": openai("max_tokens is not supported"),
    "what is no JSON": "<html>temperature 30 degrees</html>",
}


@pytest.mark.parametrize("who", REFUSED)
def test_what_a_server_refuses_is_read_from_its_own_words(who: str) -> None:
    body, expected = REFUSED[who]
    assert refused_parameter(json.dumps(body).encode(), SENT) == expected


@pytest.mark.parametrize("what", NOT_REFUSED)
def test_what_is_wrong_with_one_request_is_no_refusal_of_a_parameter(what: str) -> None:
    assert refused_parameter(json.dumps(NOT_REFUSED[what]).encode(), SENT) is None


def test_what_was_not_sent_is_not_what_is_refused() -> None:
    body, _ = REFUSED["OpenAI, a value"]
    assert refused_parameter(json.dumps(body).encode(), ("max_tokens", "seed")) is None
