"""Progress of a run: a bar with ETA and cost on a terminal, otherwise a plain line from time to time."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import Protocol

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.table import Column
from rich.text import Text

from harness.display.text_format import SafeConsole, duration
from harness.protocols import ReadingProgress

_PLAIN_INTERVAL_S = 15.0
_SHORTEST_BAR = 8
_FEWEST_FOR_ETA = 3


class Bar(Protocol):
    def update(self, done: int, total: int, note: str = "", most_s: float | None = None) -> None:
        """`note` is shown beside it, such as the cost so far. `most_s`: the seconds that a budget leaves."""
        ...


class Reporter:
    """Writes progress to standard error; standard output is for results. Parallel tasks may share one."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.console = SafeConsole(stderr=True, quiet=quiet)
        self.quiet = quiet
        self._shown: Progress | None = None
        self._lock = threading.RLock()
        self._said = set[str]()

    def say(self, line: str) -> None:
        self.console.print(line, soft_wrap=True)

    def say_once(self, line: str) -> None:
        """Print a line that this command has not printed so before."""
        if line not in self._said:
            self._said.add(line)
            self.say(line)

    def warn(self, line: str) -> None:
        """Print a line even if quiet, such as for damaged data."""
        quiet, self.console.quiet = self.console.quiet, False
        try:
            self.say(line)
        finally:
            self.console.quiet = quiet

    @contextmanager
    def bar(self, label: str) -> Iterator[Bar]:
        """A progress bar for the enclosed work, below those that are open. Thread-safe."""
        if self.quiet or not self.console.is_terminal:
            yield _PlainBar(label, self)
            return
        with self._lock:
            if self._shown is None:
                columns = (TextColumn("{task.description}", markup=False), BarColumn(), _FactsColumn(self.console))
                self._shown = Progress(*columns, console=self.console, transient=True)
                self._shown.start()
            progress = self._shown
            task = progress.add_task(label, total=None, note="", count="", left="")
        try:
            yield _RichBar(progress, task)
        finally:
            with self._lock:
                if len(progress.tasks) == 1:
                    progress.stop()
                    self._shown = None if self._shown is progress else self._shown
                progress.remove_task(task)

    @contextmanager
    def reading(self) -> Iterator[ReadingProgress]:
        """A progress callback for reading data; the bar appears at the first call."""
        with ExitStack() as shown:
            bars: list[Bar] = []

            def tell(done: int, total: int, doing: str) -> None:
                if not bars:
                    bars.append(shown.enter_context(self.bar(f"reading {doing}")))
                bars[0].update(done, total)

            yield tell

    @contextmanager
    def aside(self) -> Iterator[None]:
        shown, self._shown = self._shown, None
        if shown is None:
            yield
            return
        shown.stop()
        try:
            yield
        finally:
            self._shown = shown
            shown.start()


class _FactsColumn(ProgressColumn):
    """Count, elapsed and remaining time, and the note of a task, without those that do not fit the terminal."""

    def __init__(self, console: SafeConsole) -> None:
        super().__init__(Column(no_wrap=True))
        self._console = console

    def render(self, task: Task) -> Text:
        elapsed = str(timedelta(seconds=int(task.elapsed or 0)))
        count, left, note = (task.fields[name] for name in ("count", "left", "note"))
        choices = [(count, elapsed, left, note), (count, left, note), (count, left), (count,)]
        texts = [" ".join(filter(None, facts)) for facts in choices]
        room = self._console.width - len(task.description) - _SHORTEST_BAR
        return Text(next((text for text in texts if len(text) <= room), texts[-1]))


class _RichBar:
    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task
        self._pace = Pace()

    def update(self, done: int, total: int, note: str = "", most_s: float | None = None) -> None:
        left = self._pace.time_left(done, total, most_s)
        self._progress.update(
            self._task,
            completed=done,
            total=total,
            note=note,
            count=f"{_count(done)}/{_count(total)}",
            left=f"{left} to go" if left else "",
        )


class Pace:
    """Estimates the remaining time from the units done since the first one, without loading before it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun_with: int | None = None
        self._done = 0
        self._since: tuple[int, float] | None = None
        """The count at the first finished unit, and its time."""

    def time_left(self, done: int, total: int, most_s: float | None = None) -> str:
        """Such as `3 min`, at most `most_s`; empty before three units are done, and at the end."""
        now = self._clock()
        if self._begun_with is None or done < self._done:
            self._begun_with, self._since = done, None
        self._done = done
        if self._since is None and done > self._begun_with:
            self._since = done, now
        if self._since is None or done >= total:
            return ""
        first, at = self._since
        if done - self._begun_with < _FEWEST_FOR_ETA or done == first:
            return ""
        left_s = (now - at) * (total - done) / (done - first)
        return duration(left_s if most_s is None else min(left_s, max(0.0, most_s)))


class _PlainBar:
    """For logs and pipes: a line every 15 seconds."""

    def __init__(self, label: str, reporter: Reporter) -> None:
        self._label = label
        self._reporter = reporter
        self._said_at = time.monotonic()
        self._pace = Pace()

    def update(self, done: int, total: int, note: str = "", most_s: float | None = None) -> None:
        now, left = time.monotonic(), self._pace.time_left(done, total, most_s)
        if now - self._said_at < _PLAIN_INTERVAL_S:
            return
        self._said_at = now
        eta = f", about {left} to go" if left else ""
        self._reporter.say(f"{self._label}: {_count(done)}/{_count(total)}{eta}{f', {note}' if note else ''}")


def _count(number: int) -> str:
    """A number as text. Large numbers are bytes, shown in megabytes."""
    return f"{number / 1e6:.0f} MB" if number >= 10_000_000 else f"{number:,}"
