"""Reads a `BenchConfig` from YAML and `--set`, and expands its matrix; a mistake is a ConfigError of one line."""

import itertools
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from math import prod
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from harness.config.schema import BenchConfig, ModelConfig
from harness.config.shipped_files import config_path
from harness.config.yaml_limits import MOST_BYTES, check_values, parse_yaml
from harness.core.bounded_files import read_plain
from harness.core.errors import ConfigError, nearest

M = TypeVar("M", bound=BaseModel)
Tree = dict[str, Any]
_MOST_CELLS = 10_000
_MAY_HOLD_KEYS = frozenset({"base_url", "api_key_env", "extra", "request", "headers", "url_parameters"})
"""Config keys whose values may contain a password or a key. They are not repeated."""


def load_config(source: Path | Mapping[str, Any] | None, settings: Sequence[str] = ()) -> BenchConfig:
    """Load a config from a file or a mapping of keys (None: all defaults).

    `settings` (`key.sub=value`) override the source; the last one wins. A setting of a shared key, such as
    `answer.top_k`, also overrides `per_system` values of that key, and is the only value of its axis in a matrix.
    ConfigError: unknown key (with the nearest known one), wrong value, unreadable file.
    """
    tree: Tree = read_yaml(source) if isinstance(source, Path) else deepcopy(dict(source or {}))
    for setting in settings:
        key, value = parse_setting(setting)
        if key.startswith("matrix."):
            # The rest of the key is the axis, itself a dotted key: matrix.answer.top_k=[1,5].
            others = swept if isinstance(swept := tree.get("matrix"), Mapping) else {}
            tree["matrix"] = {**others, key.removeprefix("matrix."): value}
        else:
            set_value(tree, key, value)
            if isinstance(swept := tree.get("matrix"), Mapping) and key in swept:
                tree["matrix"] = {**swept, key: [value]}
        axes = value if key == "matrix" and isinstance(value, Mapping) else (key.removeprefix("matrix."),)
        for axis in axes:
            _take_from_systems(tree, str(axis))
    return build_config(tree)


def _take_from_systems(tree: Tree, key: str) -> None:
    """Remove the `per_system` values of a shared key, such as `answer.top_k`."""
    half, dot, name = key.partition(".")
    systems = tree.get("per_system")
    if not dot or half not in ("index", "answer") or not isinstance(systems, dict):
        return
    for own in systems.values():
        if isinstance(own, dict) and isinstance(own.get(half), dict):
            own[half].pop(name, None)


def read_yaml(path: Path) -> Tree:
    """Read a YAML file as a mapping. A shipped config can be named by its path in the repository."""
    path = config_path(path)
    try:
        tree = parse_yaml(read_plain(path, MOST_BYTES).decode("utf-8"))
    except FileNotFoundError as error:
        here = [str(other) for other in path.parent.glob("*.yaml")]
        fix = nearest(str(path), here) if here else "check the path"
        raise ConfigError(f"no config file {path}", fix) from error
    except OSError as error:
        raise ConfigError(f"cannot read {path} ({error.strerror})", "check the path") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8", "save it as UTF-8") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not valid YAML ({_yaml_reason(error)})", "correct that line") from error
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise ConfigError(f"{path} contains no mapping of keys", "start with lines such as 'systems: [naive]'")
    return tree


def parse_setting(setting: str) -> tuple[str, Any]:
    """Parse `answer.top_k=8` into ("answer.top_k", 8); the value is YAML."""
    # The first `=` outside quotes.
    found = re.match(r'((?:[^="]|"[^"]*")*)=', setting)
    key = found[1].strip() if found else ""
    if found is None or not key:
        raise ConfigError(f"--set {setting[:80]}", "write it as key=value, such as --set answer.top_k=8")
    try:
        return key, parse_yaml(setting[found.end() :])
    except yaml.YAMLError as error:
        raise ConfigError(f"--set {key}: {_yaml_reason(error)}", "quote the value") from error


def value_at(config: BenchConfig, key: str) -> Any:
    """The value of a dotted key in a config; None if the key is not there."""
    found: Any = config.model_dump(mode="json")
    for part in _parts(key):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def set_value(tree: Tree, key: str, value: Any) -> None:
    """Set a dotted key in a nested mapping, in place. A plain value on the way is replaced by a mapping."""
    *parents, last = _parts(key)
    for part in parents:
        below = tree.get(part)
        tree[part] = dict(below) if isinstance(below, Mapping) else {}
        tree = tree[part]
    tree[last] = value


def _parts(key: str) -> list[str]:
    """Split a dotted key; a quoted part may contain dots: `per_system."http://host:1/ask".answer.version`."""
    quoted = key.split('"')
    if len(quoted) % 2 == 0:
        raise ConfigError(f"{key[:80]}: a quotation mark is missing", "write it as in TOML")
    parts = [""]
    for place, text in enumerate(quoted):
        if place % 2:
            parts[-1] += text
        else:
            first, *rest = text.split(".")
            parts = [*parts[:-1], parts[-1] + first, *rest]
    return parts


def build_config(tree: Tree) -> BenchConfig:
    """Validate a tree of keys against the schema; ConfigError for the first mistake."""
    try:
        check_values(tree)
    except ValueError as error:
        raise ConfigError(str(error)) from error
    try:
        return BenchConfig.model_validate(tree)
    except ValidationError as error:
        raise ConfigError(*explain(error, BenchConfig)) from error


def expand(config: BenchConfig) -> list[BenchConfig]:
    """One config per combination, in a stable order. Each has exactly one system and no matrix."""
    axes: dict[str, tuple[Any, ...]] = {"system": config.systems, **config.matrix}
    if not all(axes.values()):
        raise ConfigError("nothing to run: an empty list of systems or matrix values", "name at least one")
    if (n_cells := prod(map(len, axes.values()))) > _MOST_CELLS:
        fix = f"name at most {_MOST_CELLS:,} combinations of systems and values"
        raise ConfigError(f"the matrix has {n_cells:,} combinations", fix)
    for rule in config.exclude:
        unknown = [key for key in rule if key not in axes]
        if unknown or not rule:
            what = f"exclude: '{', '.join(unknown) or 'an empty rule'}' is not an axis"
            raise ConfigError(what, f"axes are: {', '.join(axes)}")
    points = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    kept = [point for point in points if not any(rule.items() <= point.items() for rule in config.exclude)]
    if not kept:
        raise ConfigError("nothing to run: `exclude` removes every combination", "remove a rule")
    cells = []
    for point in kept:
        tree = config.model_dump(mode="json") | {"systems": [point.pop("system")], "matrix": {}, "exclude": ()}
        for key, value in point.items():
            set_value(tree, key, value)
        cells.append(build_config(tree))
    return cells


def explain(error: ValidationError, model: type[BaseModel], prefix: str = "") -> tuple[str, str]:
    """Describe the first mistake of a validation error as (what, fix), with keys as in the config file."""
    # Report an unknown key first: pydantic lists the union members one by one, so it may come late.
    details = sorted(error.errors(), key=lambda detail: detail["type"] != "extra_forbidden")
    detail = details[0]
    path = [str(part) for part in detail["loc"] if part != "SampleConfig" and not str(part).startswith("literal[")]
    key = ".".join([prefix, *path] if prefix else path)
    if detail["type"] == "extra_forbidden":
        return f"unknown key '{key}'", nearest(path[-1], _known_keys(model, path[:-1]))
    if key == "dataset.sample":
        return f"{key}: {str(detail['input'])[:80]!r} is not a sample", "write full, or set per_type (and seed)"
    problem = str(detail["msg"]).removeprefix("Value error, ")
    given = "" if _MAY_HOLD_KEYS.intersection(path) else f", not {str(detail['input'])[:80]!r}"
    where = f"{key}: " if key else ""
    return f"{where}{problem[0].lower()}{problem[1:]}{given}", ""


def checked_options(config: ModelConfig, kind: type[M]) -> M:
    """The options of a model's provider as the type that it gives them; ConfigError for the first mistake."""
    try:
        return kind.model_validate(config.options)
    except ValidationError as error:
        raise ConfigError(*explain(error, kind, prefix=f"models.{config.role}.options")) from error


def _known_keys(model: type[BaseModel], path: Sequence[str]) -> list[str]:
    for part in path:
        field = model.model_fields.get(part)
        if field is None:
            # A key of a free mapping, such as per_system.<name>: its values have the section's fields.
            continue
        model = _section_of(field.annotation) or model
    return list(model.model_fields)


def _section_of(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _section_of(part))), None)


def _yaml_reason(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "syntax"
    return f"line {mark.line + 1}: {problem}" if mark else str(problem)
