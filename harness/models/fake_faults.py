"""Faults that model servers were observed to have: in the status, in the body, on the wire."""

import json
import random
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

Wire = Literal["", "truncated", "reset", "endless", "bad_header"]
"""How the transmission of a reply fails: it ends before its length, the connection is reset halfway, the body
never ends, a header is invalid."""

_ABSURD: dict[str, dict[str, Any]] = {
    "usage_negative": {"prompt_tokens": -100_000, "completion_tokens": -3},
    "usage_huge": {"prompt_tokens": 10**30, "completion_tokens": 1},
    "usage_float": {"prompt_tokens": 1e30, "completion_tokens": 0.5},
    "usage_text": {"prompt_tokens": "7", "completion_tokens": True},
}
_BOMB_MIB = 96

Payload = dict[str, Any]
_CHANGED = ("no_usage", "length", "list_content", *_ABSURD)
"""Faults in replies that are still sent and counted, in another form."""
_BROKEN = (
    "malformed",
    "truncated",
    "reset",
    "endless",
    "bad_header",
    "gzip_bomb",
    "hang",
    "slow",
    "retry_after_huge",
)
FAULTS = rf"http_[45]\d\d|{'|'.join([*_CHANGED, *_BROKEN])}"
"""All faults, as a regular expression."""
_HUGE_S = "999999999"


@dataclass(frozen=True)
class Reply:
    """An HTTP reply, and its transmission fault."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    wire: Wire = ""


def changed(fault: str | None, payload: Payload) -> Payload:
    """An answer changed by `fault`; unchanged if the fault is of another kind."""
    if fault == "no_usage":
        del payload["usage"]
    if fault in _ABSURD:
        payload["usage"] = _ABSURD[fault]
    for choice in payload.get("choices", []):
        if fault == "length":
            choice["finish_reason"] = "length"
        if fault == "list_content":
            words = str(choice["message"]["content"])
            parts = (words[: len(words) // 2], words[len(words) // 2 :])
            choice["message"]["content"] = [{"type": "text", "text": part} for part in parts]
    return payload


def is_answered(fault: str | None) -> bool:
    """Whether a request with that fault is still answered and counted."""
    return fault is None or fault in _CHANGED or fault == "slow"


def faulty_reply(fault: str, retry_after_s: float | None, answer: bytes) -> Reply:
    """The reply sent instead of `answer`."""
    if fault in {"truncated", "reset", "endless", "bad_header"}:
        wire: Any = fault
        return Reply(200, answer, wire=wire)
    if fault == "malformed":
        return Reply(200, b'{"choices": [{"mess')
    if fault == "gzip_bomb":
        return Reply(200, _bomb(), {"content-encoding": "gzip"})
    is_huge = fault == "retry_after_huge"
    status = int(fault.removeprefix("http_")) if fault.startswith("http_") else 429 if is_huge else 500
    waits = _HUGE_S if is_huge else None if retry_after_s is None else str(retry_after_s)
    error = {"message": f"the script asked for {fault}", "type": "fake", "code": fault}
    return Reply(status, json.dumps({"error": error}).encode(), {} if waits is None else {"retry-after": waits})


def refusal_of(parameter: str) -> Reply:
    """A 400 with the message of OpenAI's servers for a refused parameter."""
    instead = " Use 'max_completion_tokens' instead." if parameter == "max_tokens" else ""
    error = {
        "message": f"Unsupported parameter: '{parameter}' is not supported with this model.{instead}",
        "type": "invalid_request_error",
        "param": parameter,
        "code": "unsupported_parameter",
    }
    return Reply(400, json.dumps({"error": error}).encode())


def draw_fault(shares: Mapping[str, float], seed: str) -> str | None:
    """One of the faults with its probability, or none: a fixed function of `seed`."""
    draw = random.Random(seed).random()  # noqa: S311 - a script, no secret
    for fault, share in shares.items():
        draw -= share
        if draw < 0:
            return fault
    return None


@cache
def _bomb() -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    blanks = b" " * (1 << 20)
    return b"".join(packer.compress(blanks) for _ in range(_BOMB_MIB)) + packer.flush()
