"""Finds the rejected parameter in a server's error message.

OpenAI and Azure name it (`error.param`, `error.code`); others use a sentence or a list of pydantic errors: vLLM,
Mistral (422), LiteLLM, Groq, Google's endpoint of that protocol, Anthropic.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

REFUSING = frozenset({400, 422})
"""Status codes of a rejected parameter."""
_CODES = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter"})
_REFUSED = re.compile(
    r"(?:n't|not) support|unsupported|unrecogni[sz]ed|extra_forbidden|extraneous"
    r"|extra inputs|not permitted|not allowed|deprecated|cannot find field|unexpected keyword|unexpected field"
    r"|unknown (?:name|parameter|field|argument)|only the default|may only be set",
    re.IGNORECASE,
)
_AS_RENAMED = {"max_tokens": "max_completion_tokens"}
"""The limit on the reply's length is never left out."""


def refused_parameter(content: bytes, sent: Iterable[str]) -> tuple[str, str | None] | None:
    """(rejected parameter of `sent`, its new name, or None to omit it). None: the error has another reason, such
    as a value that is too large.
    """
    message, param, code = _said(content)
    for name in sent:
        if not (param == name and code in _CODES) and not _is_named(name, param, message):
            continue
        renamed = _AS_RENAMED.get(name)
        if name in _AS_RENAMED and f"{renamed}" not in message and code not in _CODES - {"unsupported_value"}:
            return None
        return name, renamed
    return None


def _is_named(name: str, param: str, message: str) -> bool:
    """Whether a sentence about a rejected parameter is about this one."""
    if param and param != name:
        return False
    if "invalid schema" in message.lower():
        return False
    # An offered alternative is not what is refused, and if two parameters exclude each other the user must choose.
    about = re.split(r"\buse\b|\binstead\b", message, maxsplit=1, flags=re.IGNORECASE)[0]
    return bool(re.search(rf"(?<![\w.]){name}(?!\w)", about) and _REFUSED.search(about))


def _said(content: bytes) -> tuple[str, str, str]:
    """(whole message, refused parameter, code) of a body."""
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError):
        return content.decode(errors="replace")[:2000], "", ""
    parsed = parsed[0] if isinstance(parsed, list) and parsed else parsed
    error: Any = parsed.get("error", parsed) if isinstance(parsed, dict) else parsed
    if not isinstance(error, dict):
        return str(error)[:2000], "", ""
    texts = [error.get(key) for key in ("message", "detail")]
    message = " ".join(text if isinstance(text, str) else json.dumps(text) for text in texts if text)
    return message[:2000] or json.dumps(error)[:2000], str(error.get("param") or ""), str(error.get("code") or "")
