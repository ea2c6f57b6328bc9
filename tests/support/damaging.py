"""Random damage to the files of a run, and the reaction of commands."""

import asyncio
import json
import random
import shutil
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

from command_line import SMOKE, CommandLineHere

from harness.core.errors import HarnessError
from harness.report.chapter import load_chapters
from harness.report.formats import summary_csv
from harness.runner.executing.messages import Event, Turn
from harness.runner.executing.worker import Worker, _event_of, _first_harness_error
from harness.runner.executing.worker_supervisor import Supervisor, WorkerEnd
from harness.statistics.prices import load_prices
from harness.store import RunDir, find_runs


class WorkersHere:
    """Runs workers in this process, because starting their processes takes most of the time."""

    def __enter__(self) -> None:
        self._patches: list[Any] = [
            patch.object(Supervisor, "run", _work_here),
            patch.object(Supervisor, "turn", _turn_here),
        ]
        for one in self._patches:
            one.start()

    def __exit__(self, *_: object) -> None:
        for one in self._patches:
            one.stop()


class _Events:
    """Collects the events of a worker."""

    def __init__(self, take: Callable[[Event], None]) -> None:
        self._take = take

    def write(self, line: bytes) -> None:
        self._take(Event.model_validate_json(line))

    def flush(self) -> None:
        """Nothing is buffered."""


def _work_here(self: Supervisor) -> WorkerEnd:
    """`Supervisor.run` without a process."""
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            asyncio.run(_worked(Worker(self._job, _Events(self._take))))  # type: ignore[arg-type]
    except Exception as error:
        known = _first_harness_error(error)
        event = _event_of(known) if known else Event(kind="broken", what=traceback.format_exc()[-3000:])
        self._take(event)
    return self._worker_end(0)


async def _worked(worker: Worker) -> None:
    """A process ends with its connections open; here they are closed."""
    try:
        await worker.work()
    finally:
        for transport in [*asyncio.get_running_loop()._transports.values()]:  # type: ignore[attr-defined]
            transport.abort()
        await asyncio.sleep(0)


def _turn_here(self: Supervisor, turn: Turn) -> WorkerEnd:
    """`Supervisor.turn` without a process: each turn is a separate worker."""
    self._outcome = WorkerEnd(completed=False)
    self._job = self._job.model_copy(update={"todo": turn.todo, "allowance": turn.allowance})
    return _work_here(self)


Depth = Literal["commands", "resume"]
"""What is tried: reading commands; `run`, after an interruption."""
STATES = ("finished", "unfinished", "unbuilt")
"""States of the damaged run: complete; without some answers; without these and its index."""
_SYSTEMS = ("naive", "closed-book")
_UNFINISHED = " is not finished ("
_LEFT = 3
"""Answers missing in an unfinished run."""
Values = dict[tuple[str, ...], str]
Damage = Callable[[Path, random.Random], None]


def flip(path: Path, draw: random.Random) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(draw.randint(1, 8)):
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)


def truncate(path: Path, draw: random.Random) -> None:
    path.write_bytes(path.read_bytes()[: draw.randrange(path.stat().st_size)])


def empty(path: Path, _draw: random.Random) -> None:
    path.write_bytes(b"")


def remove(path: Path, _draw: random.Random) -> None:
    path.unlink()


def swap(path: Path, draw: random.Random) -> None:
    """Swap it with another file of its kind."""
    others = [one for one in path.parents[1].rglob(f"*{path.suffix}") if one.is_file() and one != path]
    other = draw.choice(others) if others else path
    mine, its = path.read_bytes(), other.read_bytes()
    path.write_bytes(its)
    other.write_bytes(mine)


def cut_line(path: Path, draw: random.Random) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    del lines[draw.randrange(len(lines))]
    path.write_bytes(b"".join(lines))


def double_line(path: Path, draw: random.Random) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    at = draw.randrange(len(lines))
    path.write_bytes(b"".join([*lines[: at + 1], *lines[at:]]))


def mistype(path: Path, draw: random.Random) -> None:
    """Change the type of a value in a JSON file; flip bits in any other file."""
    try:
        tree = json.loads(path.read_bytes())
        key = draw.choice(list(tree))
    except (ValueError, IndexError, TypeError):
        flip(path, draw)
        return
    tree[key] = draw.choice([None, 3, -1, "x", [], {}, [None], 1e300, True, float("nan")])
    path.write_text(json.dumps(tree), encoding="utf-8")


def zero_page(path: Path, draw: random.Random) -> None:
    """Replace a block of the disk by zeros."""
    content = bytearray(path.read_bytes())
    start = draw.randrange(0, len(content), 512)
    content[start : start + 512] = bytes(len(content[start : start + 512]))
    path.write_bytes(content)


DAMAGES: dict[str, Damage] = {
    damage.__name__: damage
    for damage in (flip, truncate, empty, remove, swap, cut_line, double_line, mistype, zero_page)
}


@dataclass
class Seen:
    """The results of the commands on one damaged folder."""

    file: str
    damage: str
    tracebacks: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    """Numbers that changed or disappeared without a message."""


class Bench:
    """A folder with finished runs, and copies of it to damage."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.whole = folder, folder / "whole"
        self.whole.mkdir(parents=True)
        cli = command_line(self.whole)
        self._words = (
            *("run", "--config", str(SMOKE), "--records-only", "--set", "evaluators=[answer,retrieval]"),
            *("--set", f"systems=[{','.join(_SYSTEMS)}]"),
        )
        with WorkersHere():
            done = cli.call(*self._words)
        assert done.returncode == 0, done.stderr
        done = cli.call("evaluate", *(run.run_id for run in self._runs(self.whole)))
        assert done.returncode == 0, done.stderr
        self._values, self._notes, self._answers = self._look(self.whole)
        self._shown = self._show(self.whole)

    def targets(self, folder: Path) -> list[Path]:
        """Every file that may be damaged."""
        found = (path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)
        return sorted(path for path in found if path.name not in {".lock", ".users"})

    def read_targets(self, folder: Path) -> list[Path]:
        """Files that commands read which do not run anything."""
        return [
            path
            for path in self.targets(folder)
            if path.parent.name.startswith("demo--") or "scores" in path.parts
        ]

    def damaged(self, number: int, draw: random.Random, depth: Depth) -> Seen:
        """Damage one file of a copy, and run the commands."""
        folder = self._folder / f"damaged-{number}"
        shutil.copytree(self.whole, folder)
        try:
            if depth == "resume":
                self._interrupt(folder, draw.choice(STATES))
            path = draw.choice(self.read_targets(folder) if depth == "commands" else self.targets(folder))
            name = draw.choice(list(DAMAGES))
            seen = Seen(path.relative_to(folder).as_posix(), name)
            DAMAGES[name](path, draw)
            {"commands": self._look_at, "resume": self._resume}[depth](folder, seen)
            return seen
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _interrupt(self, folder: Path, state: str) -> None:
        if state == "finished":
            return
        run = self._runs(folder)[-1]
        run.reopen()
        records = run.path / "records.jsonl"
        records.write_bytes(b"".join(records.read_bytes().splitlines(keepends=True)[:-_LEFT]))
        if state == "unbuilt":
            for index in (folder / "results" / "indexes").glob("*/index.json"):
                index.unlink()

    def _look_at(self, folder: Path, seen: Seen) -> None:
        self._compare(seen, "show", lambda: self._show(folder), self._shown)
        self._report(folder, seen, "report")
        self._command(folder, seen, "evaluate", *(run.run_id for run in self._runs(folder)))
        self._report(folder, seen, "report after evaluate")

    def _resume(self, folder: Path, seen: Seen) -> None:
        with WorkersHere():
            ended = self._command(folder, seen, *self._words)
        names = [run.run_id for run in self._runs(folder)]
        if ended == 0 and self._command(folder, seen, "evaluate", *names) == 0:
            self._report(folder, seen, "report after run")

    def _report(self, folder: Path, seen: Seen, doing: str) -> None:
        found = self._guarded(seen, doing, lambda: self._look(folder))
        if found is None:
            return
        values, notes, answers = found
        said = notes != self._notes
        for key, value in self._values.items():
            if values.get(key) != value and not said:
                seen.silent.append(f"{doing}: {' '.join(key)} was {value}, is {values.get(key, 'gone')}")
        if answers != self._answers and not said:
            seen.silent.append(f"{doing}: answers differ")
        seen.silent += [f"{doing}: {' '.join(key)} is {value}" for key, value in values.items() if value == "nan"]

    def _compare(self, seen: Seen, doing: str, read: Callable[[], str], expected: str) -> None:
        found = self._guarded(seen, doing, read)
        # A run without done.json is reported as unfinished.
        if found not in (None, expected) and _UNFINISHED not in str(found):
            seen.silent.append(f"{doing}: {_difference(expected, found)}")

    def _command(self, folder: Path, seen: Seen, *words: str) -> int | None:
        done = self._guarded(seen, words[0], lambda: command_line(folder).call(*words))
        if done is None:
            return None
        if done.returncode == 1 or "Traceback" in done.stderr:
            seen.tracebacks.append(f"{words[0]}: {done.stderr[-2000:]}")
        elif done.returncode:
            seen.refusals.append(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"{done.stdout}")
        return int(done.returncode)

    def _guarded(self, seen: Seen, doing: str, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except HarnessError as error:
            seen.refusals.append(f"{doing}: {error}")
        except Exception:
            seen.tracebacks.append(f"{doing}: {traceback.format_exc()[-2000:]}")
        return None

    def _runs(self, folder: Path) -> list[RunDir]:
        names = [path.name for path in sorted((self.whole / "results").glob("demo--*"))]
        return [RunDir(folder / "results" / name) for name in names]

    def _show(self, folder: Path) -> str:
        cli, shown = command_line(folder), []
        for run in self._runs(folder):
            query = run.sample()[0].query.query_id
            for words in ((run.run_id,), (run.run_id, query)):
                done = cli.call("show", *words)
                if done.returncode:
                    raise HarnessError(done.stderr.strip())
                shown.append(done.stdout)
        return "\n".join(shown)

    def _look(self, folder: Path) -> tuple[Values, list[str], Values]:
        """(aggregates, notes, answers), as a report reads them."""
        runs = find_runs(folder / "results", [run.run_id for run in self._runs(folder)])
        chapters = load_chapters(runs, load_prices())
        notes = [note for chapter in chapters for note in chapter.group.note_lines]
        answers: Values = {
            (run.run_id, record.query_id): repr(record.prediction)
            for run in runs
            for record in run.records().values()
        }
        return dict(_values(summary_csv([chapter.group for chapter in chapters]))), notes, answers


def _values(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    for line in text.splitlines()[1:]:
        cells = line.split(",")
        # Seconds and bytes of a resumed run differ.
        if not any(
            part in cells[4] for part in ("_s", "rss", "cpu", "seconds", "usd", "replayed", "bytes", "shared")
        ):
            yield (cells[0], *cells[3:5]), ",".join(cells[5:])


def _difference(expected: str, found: str) -> str:
    pairs = zip(expected.splitlines(), found.splitlines(), strict=False)
    return next((f"{one!r} is {other!r}" for one, other in pairs if one != other), "lines are gone")[:300]


def command_line(folder: Path) -> CommandLineHere:
    """`rag-harness` in that folder, with its own cache."""
    return CommandLineHere(folder, {"RAG_HARNESS_CACHE": str(folder / "cache")})
