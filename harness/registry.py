"""Systems, data sets and evaluators by name, found through entry points, imported only when asked for."""

from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

from harness.errors import ConfigError, MissingDependency, nearest
from harness.protocols import DatasetSpec, EvaluatorSpec, SystemSpec

SYSTEMS = "rag_harness.systems"
DATASETS = "rag_harness.datasets"
EVALUATORS = "rag_harness.evaluators"


def system_names() -> list[str]:
    """Every registered system."""
    return sorted(_found(SYSTEMS))


def dataset_names() -> list[str]:
    """Every registered data set."""
    return sorted(_found(DATASETS))


def evaluator_names() -> list[str]:
    """Every registered evaluator."""
    return sorted(_found(EVALUATORS))


def load_system(name: str) -> SystemSpec:
    """The system of that name; an unknown one is a ConfigError that names the nearest."""
    return cast(SystemSpec, _load(SYSTEMS, "system", name, SystemSpec))


def load_dataset_spec(name: str) -> DatasetSpec:
    """The data set of that name; an unknown one is a ConfigError that names the nearest."""
    return cast(DatasetSpec, _load(DATASETS, "dataset", name, DatasetSpec))


def load_evaluator(name: str) -> EvaluatorSpec:
    """The evaluator of that name; an unknown one is a ConfigError that names the nearest."""
    return cast(EvaluatorSpec, _load(EVALUATORS, "evaluator", name, EvaluatorSpec))


@cache
def _found(group: str) -> dict[str, EntryPoint]:
    return _unique(entry_points(group=group))


def _unique(points: Iterable[EntryPoint]) -> dict[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    for point in points:
        other = found.setdefault(point.name, point)
        if other.value != point.value:
            raise ConfigError(
                f"two packages register the name '{point.name}' ({other.value} and {point.value})",
                "uninstall one of them",
            )
    return found


def _load(group: str, noun: str, name: str, kind: type) -> Any:
    found = _found(group)
    if not found:
        raise ConfigError(f"no {noun} is registered", "reinstall: pip install -e . (or run `make setup`)")
    if name not in found:
        raise ConfigError(f"unknown {noun} '{name}'", nearest(name, found))
    try:
        value = found[name].load()
    except ImportError as error:
        raise MissingDependency(
            f"{noun} '{name}' cannot be imported ({error})", "install what it needs"
        ) from error
    except AttributeError as error:
        raise ConfigError(f"{noun} '{name}': {error}", f"correct its entry point {found[name].value}") from error
    if not isinstance(value, kind):
        raise ConfigError(f"{noun} '{name}': {found[name].value} is no {kind.__name__}", "export one")
    return value
