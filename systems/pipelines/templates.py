"""A service's own format: the body of its request with placeholders, and JMESPath paths into its reply."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from harness.core.errors import ConfigError, nearest, need
from harness.core.sanitize import check_variable, keep_secret, says_secret, without_keys
from systems.pipelines.replies import PipelineReply, WrongShape, kind, read_reply

if TYPE_CHECKING:
    from systems.pipelines.params import ContextPaths, ReplyPaths, UsagePaths

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
_ERRORS = ("error.message", "error", "message", "detail")
_MOST_KEYS, _LONGEST_KEYS = 24, 700


class NothingThere(WrongShape):
    """A path that has found nothing yet: it is probably wrong."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.fix = fix


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
        if text and says_secret(name) and not _VARIABLE.search(text):
            raise ValueError(f"must not contain a key, as in '{name[:60]}': {_IN_VARIABLE}")
    if without_keys(written := json.dumps(tree)) != written:
        raise ValueError(f"must not contain a key: {_IN_VARIABLE}")
    for name in variables(tree):
        keep_secret(check_variable(name))


def variables(tree: Any) -> list[str]:
    """The environment variables that a body or headers name, each once."""
    return list(dict.fromkeys(name for text in _texts(tree) for name in _VARIABLE.findall(text)))


def check_variables(tree: Any, of: str) -> None:
    """ConfigError if an environment variable is missing or cannot be sent. Its value is never quoted."""
    for name in variables(tree):
        value = os.environ.get(name, "").strip()
        if not value:
            raise ConfigError(
                f"the environment has no {name}, which is to hold a key of {of}", f"export {name}=..."
            )
        if not (value.isascii() and value.isprintable()):
            raise ConfigError(f"{name} has characters that no key has", "copy the key again, on one line")


def filled(tree: Any, given: Mapping[str, str]) -> Any:
    """The tree with placeholders and variables replaced in its texts. A value is never read again, and becomes
    JSON afterwards, so that quotes and braces in it mean nothing.
    """
    if isinstance(tree, str):
        return _FILLED.sub(lambda at: _value(at, given), tree)
    if isinstance(tree, Mapping):
        return {name: filled(value, given) for name, value in tree.items()}
    return [filled(value, given) for value in tree] if isinstance(tree, list) else tree


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


class ReplyReader:
    """Reads the replies of a service by the paths of a config."""

    def __init__(self, paths: ReplyPaths, *, is_known_to_work: bool) -> None:
        self._paths, self._is_known_to_work = paths, is_known_to_work
        self._found: set[str] = set()
        """The paths that found something in any reply."""

    def read(self, value: Any) -> PipelineReply:
        """The reply. Raises NothingThere for a path that never found anything, otherwise WrongShape."""
        answer = self._at("answer", self._paths.answer, value)
        if answer is None and not _is_stated(self._paths.answer, value):
            raise WrongShape(_nothing("answer", self._paths.answer, value))
        paths = self._paths
        contexts = None if paths.contexts is None else self._contexts(paths.contexts, value)
        usage = None if paths.usage is None else self._usage(paths.usage, value)
        reply = read_reply({"answer": answer, "contexts": contexts, "usage": usage})
        has_texts = any(context.text.strip() for context in reply.contexts)
        return replace(reply, has_contexts=reply.has_contexts and (has_texts or not reply.contexts))

    def _contexts(self, paths: ContextPaths, value: Any) -> list[Any] | None:
        items = self._at("contexts.items", paths.items, value)
        if items is None:
            return None
        if not isinstance(items, list):
            raise WrongShape(f"answer.reply.contexts.items '{paths.items}' must find a list, not {kind(items)}")
        if any(isinstance(item, list) for item in items):
            raise WrongShape(f"answer.reply.contexts.items '{paths.items}' finds lists in a list: add [] to it")
        if paths.text is None and paths.document is None:
            return items if all(isinstance(item, str) for item in items) else _unread(items)
        columns = (
            self._column(f"contexts.{name}", path, items)
            for name, path in (("text", paths.text), ("document", paths.document), ("score", paths.score))
        )
        return [context for parts in zip(*columns, strict=True) for context in _contexts_of(*parts)]

    def _usage(self, paths: UsagePaths, value: Any) -> dict[str, Any] | None:
        named = ((name, path) for name, path in paths.model_dump().items() if path is not None)
        stated = {name: _number(self._at(f"usage.{name}", path, value)) for name, path in named}
        counted = {name: count for name, count in stated.items() if count is not None}
        # A service that counts nothing may say 0.
        return counted if any(counted.values()) else None

    def _at(self, name: str, path: str, value: Any) -> Any:
        """What a path finds; None for nothing."""
        return self._column(name, path, [value])[0]

    def _column(self, name: str, path: str | None, items: list[Any]) -> list[Any]:
        """What a path finds in each item."""
        if path is None:
            return [None] * len(items)
        found = [_search(path, item) for item in items]
        if any(one is not None for one in found) or any(_is_stated(path, item) for item in items):
            self._found.add(name)
        elif items and name not in self._found and not self._is_known_to_work:
            is_left_out = name == "contexts.items"
            fix = f"if it is left out where nothing was found, write {path} || `[]`" if is_left_out else ""
            raise NothingThere(_nothing(name, path, items[0]), fix or "correct the path, or answer.request")
        return found


def _contexts_of(text: Any, document: Any, score: Any) -> list[dict[str, Any]]:
    """The contexts of an item: one, or as many as it has texts."""
    if not isinstance(text, list):
        return [{"text": "" if text is None else text, "doc_id": document, "score": _number(score)}]
    columns = [text]
    for name, value in (("document", document), ("score", score)):
        several = value if isinstance(value, list) else [value] * len(text)
        if len(several) != len(text):
            what = f"answer.reply.contexts.{name} finds {len(several)} values for the {len(text)} texts of an item"
            raise WrongShape(what)
        columns.append(several)
    return [context for parts in zip(*columns, strict=True) for context in _contexts_of(*parts)]


def _unread(items: list[Any]) -> Any:
    other = next(item for item in items if not isinstance(item, str))
    raise WrongShape(f"a context is {kind(other)}: set answer.reply.contexts.text or .document")


def _number(value: Any) -> Any:
    """A number that is written as a text."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _search(path: str, value: Any) -> Any:
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        return jmespath.search(path, value)
    except JMESPathError as error:
        raise WrongShape(f"the path '{path}' fails: {str(error).splitlines()[0][:200]}") from error


def _is_stated(path: str, value: Any) -> bool:
    """Whether the last key of a path is there, with null as its value."""
    import jmespath
    from jmespath.exceptions import JMESPathError
    from jmespath.visitor import TreeInterpreter

    def stated(node: Mapping[str, Any]) -> bool:
        parts = node["children"]
        if node["type"] == "or_expression":
            return any(map(stated, parts))
        if node["type"] == "field":
            return isinstance(value, Mapping) and node["value"] in value
        if node["type"] != "subexpression" or parts[-1]["type"] != "field":
            return False
        above = TreeInterpreter().visit(
            {"type": "subexpression", "children": list(parts[:-1]), "value": None}, value
        )
        return isinstance(above, Mapping) and parts[-1]["value"] in above

    try:
        return stated(jmespath.compile(path).parsed)
    except JMESPathError:
        return False


def _nothing(name: str, path: str, value: Any) -> str:
    """The path that failed, what is there instead, and the error that the service states, each bounded."""
    said = next(filter(None, (_text(place, value) for place in _ERRORS)), "")
    keys = list(dict.fromkeys(_keys(value)))
    shown = ", ".join(keys[:_MOST_KEYS])[:_LONGEST_KEYS] or kind(value)
    more = ", ..." if len(keys) > _MOST_KEYS else ""
    says = f"; it says {' '.join(said.split())[:200]!r}" if said else ""
    return f"answer.reply.{name} '{path}' finds nothing in the reply, which has {shown}{more}{says}"


def _text(path: str, value: Any) -> str:
    found = _search(path, value)
    return found if isinstance(found, str) else ""


def _keys(value: Any, before: str = "", depth: int = 6) -> Iterator[str]:
    """The paths in a reply; of a list, those of its first entry."""
    if isinstance(value, Mapping) and value and depth:
        for key, inner in list(value.items())[: _MOST_KEYS + 1]:
            yield from _keys(inner, f"{before}.{str(key)[:40]}" if before else str(key)[:40], depth - 1)
    elif isinstance(value, Sequence) and not isinstance(value, str) and value and depth:
        yield from _keys(value[0], f"{before}[0]", depth - 1)
    elif before:
        yield before
