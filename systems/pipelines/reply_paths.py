"""Reads the reply of a service whose format is its own, by JMESPath paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from systems.pipelines.params import ContextPaths, ReplyPaths, UsagePaths
from systems.pipelines.replies import PipelineReply, WrongShape, kind, read_reply

_ERRORS = ("error.message", "error", "message", "detail")
_MOST_KEYS, _LONGEST_KEYS = 24, 700


class NothingThere(WrongShape):
    """A path that has found nothing yet: it is probably wrong."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.fix = fix


class ReplyReader:
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
