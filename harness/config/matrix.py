"""Expands the matrix of a sweep."""

import itertools
from collections.abc import Mapping
from math import prod
from typing import Any

from harness.config.load import build_config, set_value
from harness.config.schema import BenchConfig
from harness.core.errors import ConfigError

_MOST_CELLS = 10_000


def expand(config: BenchConfig) -> list[BenchConfig]:
    """One config per combination, in a stable order. Each has exactly one system and no matrix."""
    axes: dict[str, tuple[Any, ...]] = {"system": config.systems, **config.matrix}
    if not all(axes.values()):
        raise ConfigError("nothing to run: an empty list of systems or matrix values", "name at least one")
    if (n_cells := prod(map(len, axes.values()))) > _MOST_CELLS:
        raise ConfigError(
            f"the matrix has {n_cells:,} combinations",
            f"name at most {_MOST_CELLS:,} combinations of systems and values",
        )
    for rule in config.exclude:
        unknown = [key for key in rule if key not in axes]
        if unknown or not rule:
            what = f"exclude: '{', '.join(unknown) or 'an empty rule'}' is not an axis"
            raise ConfigError(what, f"axes are: {', '.join(axes)}")
    points = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    kept = [point for point in points if not any(rule.items() <= point.items() for rule in config.exclude)]
    if not kept:
        raise ConfigError("nothing to run: `exclude` removes every combination", "remove a rule")
    return [_at(config, point) for point in kept]


def _at(config: BenchConfig, point: Mapping[str, Any]) -> BenchConfig:
    tree = config.model_dump(mode="json")
    for key, value in point.items():
        if key == "system":
            tree["systems"] = [value]
        else:
            set_value(tree, key, value)
    tree["matrix"], tree["exclude"] = {}, ()
    return build_config(tree)
