"""What servers of models want otherwise than it is asked: learnt once from a refusal, kept for all who ask."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from filelock import FileLock
from pydantic import BaseModel, ConfigDict

from harness.core.errors import explained_io
from harness.store import atomic_files

_FIX = "delete it: what servers refuse is learnt again"


class Dialect(BaseModel):
    """How one model of one server is asked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sent_as: dict[str, str | None] = {}
    """Parameter, or `parameter=value` in JSON where it is refused at that value -> the name that it has there;
    None: it is not sent."""
    taken: tuple[str, ...] = ()
    """Of those, what the model was seen to take as it is."""

    def knows(self, parameter: str) -> bool:
        """Whether it was seen to take or to refuse it."""
        return parameter in self.taken or parameter in self.sent_as

    def and_also(self, other: "Dialect") -> "Dialect":
        """What either knows; where both do, this one."""
        return Dialect(sent_as={**other.sent_as, **self.sent_as}, taken=_joined(other.taken, self.taken))

    @property
    def left_out(self) -> list[str]:
        """What is not sent, and so decided by the model."""
        return sorted(parameter for parameter, name in self.sent_as.items() if name is None)

    def taking(self, parameters: Iterable[str]) -> "Dialect":
        """The same, when it was seen to take these."""
        return self.model_copy(update={"taken": _joined(self.taken, parameters)})

    def sending(self, parameter: str, name: str | None) -> "Dialect":
        """The same, when it was seen to refuse this one."""
        return self.model_copy(update={"sent_as": {**self.sent_as, parameter: name}})


def _joined(some: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({*some, *more}))


class _Known(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    servers: dict[str, Dialect] = {}


class SpokenDialects(BaseModel):
    """dialects.json of a run: role -> how its model was asked, where it refused what the config says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    roles: dict[str, Dialect] = {}


class Dialects:
    """Server and model -> dialect, in a file that every process of a folder of results shares; without one, in
    memory.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._known = _Known()

    @classmethod
    def under(cls, results: Path) -> "Dialects":
        """Those of a folder of results."""
        return cls(results / "dialects.json")

    def of(self, server: str) -> Dialect:
        """What is known by now, whoever learnt it."""
        self._known = self._read()
        return self._known.servers.get(server, Dialect())

    def learn(self, server: str, change: Callable[[Dialect], Dialect]) -> Dialect:
        """Change what is known of a server, as nobody else does meanwhile; returns it as it is now."""
        if self._path is None:
            return self._change(server, change)
        with explained_io("write to", self._path.parent):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(self._path.with_name(f".{self._path.name}.lock")):
                self._known = self._read()
                changed = self._change(server, change)
                atomic_files.write_json(self._path, self._known)
        return changed

    def _change(self, server: str, change: Callable[[Dialect], Dialect]) -> Dialect:
        changed = change(self._known.servers.get(server, Dialect()))
        servers: Mapping[str, Dialect] = {**self._known.servers, server: changed}
        self._known = _Known(servers=dict(sorted(servers.items())))
        return changed

    def _read(self) -> _Known:
        if self._path is None or not self._path.exists():
            return self._known if self._path is None else _Known()
        return atomic_files.read_json(self._path, _Known, _FIX)
