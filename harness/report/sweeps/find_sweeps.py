"""Which runs of a group are a sweep: nothing but one number differs between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from harness.config.yaml_limits import flatten
from harness.report.labels import determining, labels, short_keys
from harness.report.view import Group

FEWEST = 3
"""Values of a parameter that make a curve; two are a comparison."""

Flat = Mapping[str, Any]


class SweepPoint(NamedTuple):
    """One run of a sweep."""

    value: float
    """Of the swept parameter."""
    position: int
    """Of the run in `group.views`."""


@dataclass(frozen=True)
class SweepLine:
    """Runs that are alike but for the swept parameter."""

    name: str
    points: tuple[SweepPoint, ...]
    """By value, ascending."""


@dataclass(frozen=True)
class Sweep:
    """One parameter over its values, a line for each system or setting of the others."""

    parameter: str
    """Its shortest unmistakable name, such as `top_k`."""
    lines: tuple[SweepLine, ...]

    @property
    def values(self) -> list[float]:
        """Every value of any line, ascending."""
        return sorted({point.value for line in self.lines for point in line.points})


def find_sweeps(group: Group) -> list[Sweep]:
    """Every numeric parameter that alone tells at least `FEWEST` runs apart, in the order of their names."""
    flat = [flatten(determining(view.manifest.identity)) for view in group.views]
    keys = sorted({key for own in flat for key, value in own.items() if _is_number(value)})
    short = short_keys(keys, flat)
    found = [(short[key], _lines(group, flat, key)) for key in keys]
    return [Sweep(parameter, lines) for parameter, lines in found if lines]


def _lines(group: Group, flat: Sequence[Flat], key: str) -> tuple[SweepLine, ...]:
    having = [position for position, own in enumerate(flat) if _is_number(own.get(key))]
    alike: dict[str, list[SweepPoint]] = {}
    for position in having:
        point = SweepPoint(float(flat[position][key]), position)
        alike.setdefault(_rest(flat[position], key), []).append(point)
    curves = [sorted(points) for points in alike.values() if len({point.value for point in points}) >= FEWEST]
    curves.sort(key=lambda points: points[0].position)
    names = labels([_without(group, points[0].position, key) for points in curves])
    return tuple(SweepLine(name, tuple(points)) for name, points in zip(names, curves, strict=True))


def _rest(own: Flat, key: str) -> str:
    """All the rest of a run's identity, as one text."""
    return repr(sorted((name, repr(value)) for name, value in own.items() if name != key))


def _without(group: Group, position: int, key: str) -> dict[str, Any]:
    """A run's identity without the swept parameter: it names the line."""
    return _dropped(group.views[position].manifest.identity, key.split("."))


def _dropped(tree: Mapping[str, Any], path: Sequence[str]) -> dict[str, Any]:
    head, *rest = path
    if not rest:
        return {key: value for key, value in tree.items() if key != head}
    return {key: _dropped(value, rest) if key == head else value for key, value in tree.items()}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
