"""Size and type limits of a config, checked before its keys: bounded trees of plain values."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any

import yaml

MOST_BYTES = 1_000_000
"""Largest config file."""
_MOST_VALUES = 100_000
_DEEPEST = 40
_LONGEST_TEXT = 1_000_000
Path = tuple[str, ...]
"""The keys from the root to a value."""
Part = tuple[Path, Any]


class _GrowsTooLarge(Exception):
    """Not a ValueError, which YAML's own values raise."""


def parse_yaml(text: str) -> Any:
    """Parse a YAML text. Raises `yaml.YAMLError` if it is invalid or expands to too many values through
    aliases.
    """
    try:
        loader = _Shallow(text)
        node = loader.get_single_node()
        _check_size(node, _below_node, _GrowsTooLarge)
        return None if node is None else loader.construct_document(node)
    except RecursionError as error:
        raise yaml.MarkedYAMLError(problem="nested too deeply") from error
    except _GrowsTooLarge as error:
        raise yaml.MarkedYAMLError(problem=str(error)) from error
    except (ValueError, AttributeError, OverflowError, TypeError, LookupError) as error:
        # An impossible date, a number of 5,000 digits or none, a tag that does not fit.
        raise yaml.MarkedYAMLError(problem=f"an impossible value: {str(error)[:200]}") from error


class _Shallow(yaml.SafeLoader):
    """Limits the nesting, so that no later recursion overflows."""

    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise yaml.MarkedYAMLError(problem="nested too deeply")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """Reject a duplicate key: the first value, such as a budget, would be lost silently."""
        node = super().compose_mapping_node(anchor)
        seen = set[tuple[str, str]]()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                named = key.tag, key.value
                if named in seen:
                    problem = f"'{key.value[:80]}' appears twice"
                    raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
                seen.add(named)
        return node


def check_values(tree: Any) -> None:
    """Raise ValueError unless all values are JSON values that fit into a file, in a bounded tree."""
    _check_size(tree, _below_value, ValueError)


def _check_size(root: Any, below: Callable[[Any, Path], Iterable[Part]], refusal: type[Exception]) -> None:
    """Check the limits on the expanded tree: with aliases, a few lines can expand to billions of values."""
    seen = 0
    left: list[Part] = [((), root)]
    while left:
        path, value = left.pop()
        seen += 1
        if len(path) > _DEEPEST:
            raise refusal(f"{_named(path[:3])}: nested more than {_DEEPEST} deep")
        if seen > _MOST_VALUES:
            raise refusal(f"{_named(path[:1])}: more than {_MOST_VALUES:,} values")
        left += below(value, path)


def _below_node(node: yaml.Node | None, path: Path) -> Iterable[Part]:
    if isinstance(node, yaml.MappingNode):
        return [((*path, str(key.value)), part) for key, value in node.value for part in (key, value)]
    found = node.value if isinstance(node, yaml.SequenceNode) else ()
    return [((*path, str(place)), part) for place, part in enumerate(found)]


def _below_value(value: Any, path: Path) -> Iterable[Part]:
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ValueError(f"{_named((*path, str(key)))}: this key is not a text, put quotes around it")
            _check_text(key, path)
        return [((*path, key), one) for key, one in value.items()]
    if isinstance(value, str):
        _check_text(value, path)
    elif isinstance(value, bool | None):
        pass
    elif isinstance(value, int | float):
        if not -(2.0**63) <= value < 2.0**63:
            raise ValueError(f"{_named(path)}: not a number within 64 bits")
    elif isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [((*path, str(place)), one) for place, one in enumerate(value)]
    elif isinstance(value, date | bytes | set):
        raise ValueError(f"{_named(path)}: parsed as a {type(value).__name__}, put quotes around a text")
    return ()


def _check_text(text: str, path: Path) -> None:
    if len(text) > _LONGEST_TEXT:
        raise ValueError(f"{_named(path)}: a text longer than {_LONGEST_TEXT:,} characters")
    if "\0" in text or (not text.isascii() and text.encode(errors="ignore").decode() != text):
        raise ValueError(f"{_named(path)}: a character that UTF-8 files cannot contain")


def _named(path: Path) -> str:
    return ".".join(path)[:80] or "the config"
