"""Writes a config to start from: every key with its default and the schema's docstring."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator

import yaml
from pydantic import BaseModel

from harness.config import schema
from harness.config.schema import BenchConfig

_SET = {
    *("systems", "dataset", "dataset.name", "dataset.sample", "evaluators"),
    *("models", "models.generator", "models.generator.provider", "models.embedder", "models.embedder.provider"),
}
"""The keys that users change first; all others are commented out."""
_LIKE = {
    "models.embedder": "generator, from model to extra",
    "models.judge": "generator",
    "models.judge_embedder": "embedder",
}
"""Sections that share the keys of another one; only their own keys are printed."""
_HEAD = """\
# A benchmark: each system below answers the same queries, and a report shows which differences are real. As it is,
# this config needs no key and no server: a small language model is downloaded and runs on this machine. With
# `provider: none` under generator it compares retrieval only, without a language model.
#
#   rag-harness plan -c {name}        lists the runs and their status; costs nothing
#   rag-harness estimate -c {name}    calls, tokens, dollars, minutes
#   rag-harness run -c {name}         if interrupted, the same command resumes it
#
# A key behind # has the value shown. To change it, remove the # from it and from the keys above it."""


def template(name: str) -> str:
    """The text of a config file called `name`. It equals the defaults, as it is and with every # before a key
    removed.
    """
    return "\n".join([_HEAD.format(name=name), *_section(BenchConfig, "", 0)]) + "\n"


def _section(kind: type[BaseModel], path: str, depth: int) -> Iterator[str]:
    documented, defaults = _docstrings(), kind().model_dump(mode="json")
    shown = {"provider", *kind.__annotations__} if path.rstrip(".") in _LIKE else set(kind.model_fields)
    for key in (name for name in kind.model_fields if name in shown):
        own, field = f"{path}{key}", kind.model_fields[key]
        below = field.annotation
        own_texts = (documented.get(base.__name__, {}).get(key) for base in kind.__mro__)
        is_section = isinstance(below, type) and issubclass(below, BaseModel)
        text = next(filter(None, own_texts), "") or (inspect.getdoc(below) or "" if is_section else "")
        if own in _LIKE:
            text = f"{text} The other keys are those of {_LIKE[own]}."
        # On one line, with YAML's word for None.
        in_yaml = re.sub(r"\bNone\b", "null", " ".join(text.split()))
        yield from ([""] if depth == 0 else [])
        indent = "  " * depth
        yield from textwrap.wrap(in_yaml, 100, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ")
        mark = "" if own in _SET else "#"
        if is_section and isinstance(below, type):
            yield f"{indent}{mark}{key}:"
            yield from _section(below, f"{own}.", depth + 1)
        else:
            value = yaml.safe_dump(defaults[key], default_flow_style=True, width=10_000)
            yield f"{indent}{mark}{key}: " + value.removesuffix("...\n").strip()


def _docstrings() -> dict[str, dict[str, str]]:
    """The docstring below each field in the schema's source, by class and field."""
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
