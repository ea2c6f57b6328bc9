"""The registry of plug-ins: found through entry points, imported only when asked for.

A plug-in that cannot be imported, or a name claimed by two packages, is an error of one line when that name is
used; everything else works.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Generic, TypeVar

from harness import protocols
from harness.core.errors import ConfigError, HarnessError, MissingDependency, nearest

if TYPE_CHECKING:
    from harness.protocols import CommandSpec, DatasetSpec, EvaluatorSpec, SystemSpec

T = TypeVar("T")


@dataclass(frozen=True)
class PluginKind(Generic[T]):
    group: str
    """Its entry-point group."""
    noun: str
    type: Callable[[], type[T]]
    """The type of the exported object; called when a plug-in is loaded, so that `--help` imports commands only."""
    is_asked_for: bool = True
    """Whether users ask for one by name: it then calls itself by the name of its entry point."""

    def names(self) -> list[str]:
        """Every registered name, also of those that cannot be loaded."""
        return sorted(_found(self.group))

    def load(self, name: str) -> T:
        """The plug-in of that name; for `name:target`, the result of its `at` for the target.

        Raises ConfigError if it is unknown (with the nearest name), claimed twice, or exports something else;
        MissingDependency if it cannot be imported.
        """
        name, colon, target = name.partition(":")
        found = self._registered(name)
        if not colon:
            return found
        at: Callable[[str], T] | None = getattr(found, "at", None)
        if at is None:
            raise ConfigError(f"{self.noun} '{name}' stands for itself", f"write {name}, without a colon")
        return at(target)

    def _registered(self, name: str) -> T:
        found = _found(self.group)
        if not found:
            raise ConfigError(f"no {self.noun} is registered", "reinstall: run `make setup`, or pip install again")
        if name not in found:
            # A plug-in may also be known by another name.
            plain = re.sub(r"[^a-z0-9]", "", name.lower())
            for spec in self.load_all()[0]:
                if plain in (re.sub(r"[^a-z0-9]", "", other) for other in getattr(spec, "also_called", ())):
                    raise ConfigError(
                        f"unknown {self.noun} '{name}'", f"did you mean '{getattr(spec, 'name', '')}'?"
                    )
            raise ConfigError(f"unknown {self.noun} '{name}'", nearest(name, found))
        value = self._import(name, found[name])
        kind = self.type()
        if not isinstance(value, kind):
            raise ConfigError(f"{self._called(name, found[name])} is no {kind.__name__}", "export one")
        own = str(getattr(value, "name", name))
        if self.is_asked_for and own != name:  # Ids of runs and file names are made from its own name.
            what = f"{self._called(name, found[name])} calls itself '{own}'"
            raise ConfigError(what, "register it under that name")
        return value

    def load_all(self) -> tuple[list[T], list[HarnessError]]:
        """Every plug-in that can be loaded, by name, and why the others cannot."""
        loaded: list[T] = []
        refusals: list[HarnessError] = []
        for name in self.names():
            try:
                loaded.append(self.load(name))
            except HarnessError as error:
                refusals.append(error)
        return loaded, refusals

    def _import(self, name: str, points: list[EntryPoint]) -> object:
        if len(points) > 1:
            owners = " and ".join(_owner(point) for point in points)
            raise ConfigError(
                f"two packages register the {self.noun} '{name}' ({owners})", "uninstall one of them"
            )
        try:
            return points[0].load()
        except ImportError as error:
            what = f"{self._called(name, points)} cannot be imported ({error})"
            raise MissingDependency(what, "install what it needs") from error
        except (Exception, SystemExit) as error:  # A script that exits when it is imported must not end this.
            what = f"{self._called(name, points)} cannot be imported ({type(error).__name__}: {error})"
            raise ConfigError(what, "correct it, or uninstall that package") from error

    def _called(self, name: str, points: list[EntryPoint]) -> str:
        return f"{self.noun} '{name}' ({', '.join(map(_owner, points))})"


SYSTEMS: PluginKind["SystemSpec"] = PluginKind("rag_harness.systems", "system", lambda: protocols.SystemSpec)
DATASETS: PluginKind["DatasetSpec"] = PluginKind("rag_harness.datasets", "data set", lambda: protocols.DatasetSpec)
EVALUATORS: PluginKind["EvaluatorSpec"] = PluginKind(
    "rag_harness.evaluators", "evaluator", lambda: protocols.EvaluatorSpec
)
COMMANDS: PluginKind["CommandSpec"] = PluginKind("rag_harness.commands", "command", lambda: protocols.CommandSpec)


@cache
def _found(group: str) -> dict[str, list[EntryPoint]]:
    return _by_name(entry_points(group=group))


def _by_name(points: Iterable[EntryPoint]) -> dict[str, list[EntryPoint]]:
    """The entry points of each name; duplicates, as in an editable install, count once."""
    found: dict[str, dict[str, EntryPoint]] = {}
    for point in points:
        found.setdefault(point.name, {}).setdefault(point.value, point)
    return {name: list(by_value.values()) for name, by_value in found.items()}


def _owner(point: EntryPoint) -> str:
    """`rag-words: rag_words:SPEC`; without the package if it is unknown."""
    return f"{point.dist.name}: {point.value}" if point.dist else point.value
