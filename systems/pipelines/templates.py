"""The request of a service whose format is its own: a body with placeholders, headers, and no keys in a config."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from harness.core.errors import ConfigError, nearest, need
from harness.core.sanitize import check_variable, keep_secret, says_secret, without_keys

PLACEHOLDERS = ("query", "query_id", "answer_style")
_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_PLACEHOLDER = re.compile(r"(?<![{$])\{(\w+)\}(?!\})")
_FILLED = re.compile(rf"{_VARIABLE.pattern}|{_PLACEHOLDER.pattern}")
_HEADER = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
_OURS = frozenset({"host", "connection", "content-length", "content-type", "transfer-encoding", "accept-encoding"})
_HOLDS_KEY = frozenset({"authorization", "proxy-authorization", "cookie"})
_STREAMS = {"stream": True, "response_mode": "streaming"}
_IN_VARIABLE = "put the key into an environment variable and write ${ITS_NAME}"
_LONGEST_PATH = 500


def check_path(path: str) -> str:
    """A path that JMESPath understands; ValueError otherwise."""
    need("pipeline-http", "jmespath")
    from jmespath import compile as compiled
    from jmespath.exceptions import JMESPathError

    if len(path) > _LONGEST_PATH:
        raise ValueError(f"must have at most {_LONGEST_PATH} characters")
    try:
        compiled(path)
    except (JMESPathError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"must be a JMESPath, such as choices[0].message.content ({reason[:100]})") from None
    return path


def check_request(body: dict[str, Any]) -> dict[str, Any]:
    """A body that asks the query, waits for the whole reply, and holds no key; ValueError otherwise."""
    if not body:
        return body
    _check_no_key(body)
    for name, value in _STREAMS.items():
        if body.get(name) == value:
            wanted = "blocking" if name == "response_mode" else "false"
            raise ValueError(f"must not ask for a stream: write {name}: {wanted}")
    named = [name for text in _texts(body) for name in _PLACEHOLDER.findall(text)]
    for name in named:
        if name not in PLACEHOLDERS:
            raise ValueError(f"has an unknown placeholder {{{name}}}: {nearest(name, PLACEHOLDERS)}")
    if "query" not in named:
        raise ValueError("must contain the placeholder {query}")
    return body


def check_headers(headers: dict[str, str]) -> dict[str, str]:
    """Headers that can be sent and hold no key; ValueError otherwise."""
    for name, value in headers.items():
        if not _HEADER.fullmatch(name) or name.lower() in _OURS:
            raise ValueError(f"must not contain '{name[:60]}', which is set by the harness or is no name")
        if not (value.isascii() and value.isprintable()):
            raise ValueError(f"must have plain ASCII characters on one line in '{name}'")
        if name.lower() in _HOLDS_KEY and not _VARIABLE.search(value):
            raise ValueError(f"must not contain a key: {_IN_VARIABLE}")
    _check_no_key(headers)
    return headers


def check_url_parameters(given: dict[str, str]) -> dict[str, str]:
    """Parameters without keys, which servers and proxies would log; ValueError otherwise."""
    if any(says_secret(name) or _VARIABLE.search(value) for name, value in given.items()):
        raise ValueError("must not contain a key, which belongs into headers: " + _IN_VARIABLE)
    _check_no_key(given)
    return given


def _check_no_key(tree: Mapping[str, Any]) -> None:
    for name, text in _named_texts(tree):
        # Filters have pairs of `key` and `value`.
        is_word = name.lower() in {"key", "token"} and (len(text) < 12 or not any(map(str.isdigit, text)))
        if text and says_secret(name) and not is_word and not _VARIABLE.search(text):
            raise ValueError(f"must not contain a key, as in '{name[:60]}': {_IN_VARIABLE}")
    if without_keys(written := json.dumps(tree)) != written:
        raise ValueError(f"must not contain a key: {_IN_VARIABLE}")
    for name in variables(tree):
        keep_secret(check_variable(name))


def variables(tree: Any) -> list[str]:
    """The environment variables that a body or headers name, each once."""
    return list(dict.fromkeys(name for text in _texts(tree) for name in _VARIABLE.findall(text)))


def check_variables(names: Iterable[str], of: str) -> None:
    """ConfigError if an environment variable is missing or cannot be sent. Its value is never quoted."""
    for name in names:
        value = os.environ.get(name, "").strip()
        if not value:
            raise ConfigError(
                f"the environment variable {name}, with a key of {of}, is not set", f"export {name}=..."
            )
        if not (value.isascii() and value.isprintable()):
            raise ConfigError(f"{name} has characters that no key has", "copy the key again, on one line")


def filled(tree: Any, given: Mapping[str, str]) -> Any:
    """The tree with placeholders and variables replaced in its texts. A value is never read again, and becomes
    JSON afterwards, so that quotes and braces in it mean nothing; also in a text that is JSON itself.
    """
    if isinstance(tree, str):
        if tree.lstrip().startswith(('{"', "[")) and (inner := _json_of(tree)) is not None:
            return json.dumps(filled(inner, given), ensure_ascii=False)
        return _FILLED.sub(lambda at: _value(at, given), tree)
    if isinstance(tree, Mapping):
        return {name: filled(value, given) for name, value in tree.items()}
    return [filled(value, given) for value in tree] if isinstance(tree, list) else tree


def _json_of(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _value(at: re.Match[str], given: Mapping[str, str]) -> str:
    variable, placeholder = at.groups()
    return os.environ.get(variable, "").strip() if variable is not None else given.get(placeholder, at[0])


def _texts(tree: Any) -> Iterator[str]:
    return (text for _, text in _named_texts(tree))


def _named_texts(tree: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """The texts in a tree, with the key that each stands under."""
    if isinstance(tree, str):
        yield name, tree
    elif isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from _named_texts(value, str(key))
    elif isinstance(tree, list):
        for value in tree:
            yield from _named_texts(value, name)
