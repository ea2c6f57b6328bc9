"""A config to begin with: every key of the schema with its default and what it means, in the schema's words."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from pydantic import BaseModel

from harness.config import schema
from harness.config.schema import BenchConfig

_SET = {
    *("systems", "dataset", "dataset.name", "dataset.sample", "evaluators"),
    *("models", "models.generator", "models.generator.provider", "models.embedder", "models.embedder.provider"),
}
"""What most change first; the others are there as comments."""
_LIKE = {
    "models.embedder": "generator, from model to extra",
    "models.judge": "generator",
    "models.judge_embedder": "embedder",
}
"""Sections that have the keys of another, and which: only what is their own is repeated."""
_WIDTH = 100
_HEAD = """\
# A benchmark: each system below answers the same queries, and a report says what differs. As it stands it needs no
# key and no server: a small language model is fetched and runs on this machine. `provider: none` under generator
# compares what is found, without any language model.
#
#   rag-harness plan -c {name}        what would run, and what it is called; costs nothing
#   rag-harness estimate -c {name}    calls, tokens, dollars, minutes
#   rag-harness run -c {name}         stopped anywhere, the same command goes on
#
# A key that stands behind # has the value it has anyway: take the # away, and those above it, and change it."""


def template(name: str) -> str:
    """The text of a config called `name`: as it stands, and with every # before a key taken away, it is the
    defaults.
    """
    return "\n".join([_HEAD.format(name=name), *_section(BenchConfig, "", 0)]) + "\n"


def _section(kind: type[BaseModel], path: str, depth: int) -> Iterator[str]:
    documented, defaults = _docstrings(), kind().model_dump(mode="json")
    for key in _keys(kind, path):
        own, field = f"{path}{key}", kind.model_fields[key]
        below = field.annotation
        is_section = isinstance(below, type) and issubclass(below, BaseModel)
        text = _doc_of(kind, key, documented) or (inspect.getdoc(below) or "" if is_section else "")
        if own in _LIKE:
            text = f"{text} The other keys are those of {_LIKE[own]}."
        yield from ([""] if depth == 0 else [])
        indent = "  " * depth
        yield from textwrap.wrap(
            _in_yaml(text), _WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# "
        )
        mark = "" if own in _SET else "#"
        if is_section and isinstance(below, type):
            yield f"{indent}{mark}{key}:"
            yield from _section(below, f"{own}.", depth + 1)
        else:
            yield f"{indent}{mark}{key}: {_value(defaults[key])}"


def _keys(kind: type[BaseModel], path: str) -> list[str]:
    fields = list(kind.model_fields)
    own = {"provider", *kind.__annotations__}
    return [key for key in fields if key in own] if path.rstrip(".") in _LIKE else fields


def _value(default: Any) -> str:
    """In one line of YAML."""
    return yaml.safe_dump(default, default_flow_style=True, width=10_000).removesuffix("...\n").strip()


def _in_yaml(text: str) -> str:
    """On one line, in words of the file."""
    return re.sub(r"\bNone\b", "null", " ".join(text.split()))


def _doc_of(kind: type[BaseModel], key: str, documented: Mapping[str, Mapping[str, str]]) -> str:
    found = (documented.get(base.__name__, {}).get(key) for base in kind.__mro__)
    return next(filter(None, found), "")


def _docstrings() -> dict[str, dict[str, str]]:
    """Class -> field -> what stands below it in the schema's source."""
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(inspect.getsource(schema)).body:
        if isinstance(node, ast.ClassDef):
            pairs = zip(node.body, node.body[1:], strict=False)
            found[node.name] = {
                field.target.id: str(text.value.value)
                for field, text in pairs
                if isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
            }
    return found
