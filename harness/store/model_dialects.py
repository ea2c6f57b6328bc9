"""Parameters that model servers reject or expect under another name: learnt once, shared by all processes."""

from collections.abc import Callable, Iterable
from pathlib import Path

from filelock import FileLock
from pydantic import Field

from harness.core.errors import explained_io
from harness.core.records import Record
from harness.store import atomic_files

_FIX = "delete it: rejected parameters are learnt again"


class Dialect(Record):
    """The parameter differences of one model on one server."""

    sent_as: dict[str, str | None] = Field({})
    """Parameter -> its name on the server; None: not sent. The key is `parameter=value` (value in JSON) if only
    that value is rejected."""
    taken: tuple[str, ...] = ()
    """Parameters that the model accepted unchanged."""

    def knows(self, parameter: str) -> bool:
        """Whether the parameter is known to be accepted or rejected."""
        return parameter in self.taken or parameter in self.sent_as

    def merged_over(self, other: "Dialect") -> "Dialect":
        """Both combined; this one wins."""
        return Dialect(sent_as={**other.sent_as, **self.sent_as}, taken=_joined(other.taken, self.taken))

    @property
    def left_out(self) -> list[str]:
        """Parameters that are not sent."""
        return sorted(parameter for parameter, name in self.sent_as.items() if name is None)

    def taking(self, parameters: Iterable[str]) -> "Dialect":
        """A copy in which these parameters are accepted."""
        return self.model_copy(update={"taken": _joined(self.taken, parameters)})

    def sending(self, parameter: str, name: str | None) -> "Dialect":
        """A copy in which this parameter is rejected."""
        return self.model_copy(update={"sent_as": {**self.sent_as, parameter: name}})


def _joined(some: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({*some, *more}))


class _Known(Record):
    servers: dict[str, Dialect] = Field({})


class RunDialects(Record):
    """dialects.json of a run: the differences from the config in how the model of each role was called."""

    roles: dict[str, Dialect] = Field({})


class Dialects:
    """Dialects by server and model, in a file shared by all processes of a results folder, or in memory."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._known = _Known()

    @classmethod
    def under(cls, results: Path) -> "Dialects":
        return cls(results / "dialects.json")

    def of(self, server: str) -> Dialect:
        """The current dialect, including what other processes have learnt."""
        self._known = self._read()
        return self._known.servers.get(server, Dialect())

    def learn(self, server: str, change: Callable[[Dialect], Dialect]) -> Dialect:
        """Change a dialect under a lock and return the changed one."""
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
        self._known = _Known(servers=dict(sorted({**self._known.servers, server: changed}.items())))
        return changed

    def _read(self) -> _Known:
        if self._path is None:
            return self._known
        return atomic_files.read_json(self._path, _Known, _FIX) if self._path.exists() else _Known()
