"""Two systems that answer the same questions side by side, anonymously until the user has voted.

They are prepared and asked in a thread; the methods return at once, so that a page stays responsive.
"""

import random
import shlex
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from harness.cli.console import complain, show_bug
from harness.core.errors import ConfigError, HarnessError
from harness.extensions.ask.session import Asked, AskedRun, Opening
from harness.extensions.ask.uploaded_documents import UploadedDocuments
from harness.report.comparison.output import votes_between
from harness.report.labels import run_labels
from harness.runner.executing.worker_supervisor import Supervisor, SystemBroken
from harness.runner.live_system import checked_question
from harness.runner.progress import Bar, Reporter
from harness.store.annotations import Preference, append_preference, read_preferences

Phase = Literal["documents", "preparing", "ready", "failed"]
Choice = Literal["a", "b", "tie"]
_MOST_KEPT = 100
"""Questions kept for the page; the votes are all on the disk."""


@dataclass
class AskedPair:
    question: str
    order: tuple[int, int]
    """The positions of the runs whose answers are shown as A and as B."""
    answers: list[Asked] = field(default_factory=list)
    error: str = ""
    choice: Choice | None = None


class PageReporter(Reporter):
    """Also keeps the latest progress for the page."""

    latest = ""

    def say(self, line: str) -> None:
        super().say(line)
        self.latest = line

    @contextmanager
    def bar(self, label: str) -> Iterator[Bar]:
        with super().bar(label) as bar:
            self.latest = label
            yield _ToldBar(self, label, bar)


@dataclass(frozen=True)
class _ToldBar:
    reporter: PageReporter
    label: str
    bar: Bar

    def update(self, done: int, total: int, note: str = "", most_s: float | None = None) -> None:
        self.bar.update(done, total, note, most_s)
        self.reporter.latest = f"{self.label}: {done:,} of {total:,} {note}".rstrip()


class ComparisonSession:
    """Two systems, the questions asked to them, and the votes on their answers. To be closed."""

    def __init__(
        self,
        choose: Callable[[], Opening],
        results: Path,
        reporter: PageReporter,
        uploaded: UploadedDocuments | None = None,
    ) -> None:
        """`choose` returns the runs to open, after building what they need. Votes are kept in `results`.
        `uploaded`: the documents dropped on the page; None: none are taken.
        """
        self.phase: Phase = "documents"
        self.message = ""
        """Why preparing failed."""
        self.reporter, self.uploaded = reporter, uploaded
        self._choose, self._results = choose, results
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="try")
        self._stack = ExitStack()
        self._runs: Sequence[AskedRun] = ()
        self._pairs: dict[str, AskedPair] = {}
        self._n_asked = 0
        self._building: Supervisor | None = None
        self._is_closed = False

    @property
    def names(self) -> list[str]:
        """What the systems are called; empty before they are ready."""
        return run_labels([run.live.run.manifest() for run in self._runs]) if self._runs else []

    @property
    def documents(self) -> UploadedDocuments:
        """Those dropped on the page, to change them. ConfigError: none are taken, or they are being indexed."""
        if self.uploaded is None:
            raise ConfigError("this page takes no documents", "start `rag-harness try` without runs and --docs")
        if self.phase == "preparing":
            raise ConfigError("the documents are being indexed", "change them afterwards")
        return self.uploaded

    @property
    def is_judged(self) -> bool:
        return any(run.is_judged for run in self._runs)

    @property
    def votes(self) -> str:
        """The votes so far on these two runs, as `compare` prints them; empty if there are none."""
        runs = [run.live.run for run in self._runs]
        counts = votes_between(runs, read_preferences(self._results)) if runs else []
        return "".join(one.line() for one in counts)

    @property
    def compare_command(self) -> str:
        names = [run.live.run.run_id for run in self._runs]
        return f"rag-harness compare {shlex.join([*names, '--results', str(self._results)])}"

    def prepare(self) -> None:
        """Begin to build and load the systems. ConfigError: they are being prepared."""
        if self.phase == "preparing":
            raise ConfigError("the systems are being prepared", "wait for them")
        self.phase, self.message = "preparing", ""
        self._thread.submit(self._prepare)

    def _prepare(self) -> None:
        try:
            self._stack.close()
            self._runs, self._pairs = (), {}
            self._runs = self._stack.enter_context(self._choose()(self.reporter))
            self.phase = "ready"
        except BaseException as error:
            self.message, self.phase = _told(error), "failed"

    def building(self, supervisor: Supervisor) -> None:
        """Remember the process that builds an index, to kill it if the session is closed. ConfigError: it is."""
        if self._is_closed:
            raise ConfigError("the session is closed")
        self._building = supervisor

    def ask(self, question: str) -> str:
        """Begin to ask both systems; returns the id of the pair. ConfigError: too early, or no question."""
        if self.phase != "ready":
            raise ConfigError("the systems are not ready", "add documents and wait until they are indexed")
        order = random.SystemRandom().choice([(0, 1), (1, 0)])
        pair, self._n_asked = AskedPair(checked_question(question), order), self._n_asked + 1
        pair_id = str(self._n_asked)
        self._pairs[pair_id] = pair
        for old in list(self._pairs)[:-_MOST_KEPT]:
            del self._pairs[old]
        self._thread.submit(self._ask, pair)
        return pair_id

    def _ask(self, pair: AskedPair) -> None:
        try:
            for place in () if self._is_closed else pair.order:
                asked = self._runs[place].ask(pair.question)
                for line in asked.told:
                    complain(line)
                pair.answers.append(asked)
        except BaseException as error:
            pair.error = _told(error)

    def find(self, pair_id: str) -> AskedPair:
        """ConfigError: there is no such question any more."""
        if pair_id not in self._pairs:
            raise ConfigError("this question is no longer here", "ask it again")
        return self._pairs[pair_id]

    def vote(self, pair_id: str, choice: Choice) -> AskedPair:
        """Keep a vote on the disk. ConfigError: an answer is missing, or the question has a vote."""
        pair = self.find(pair_id)
        if len(pair.answers) < 2 or not all(map(_answer, pair.answers)):
            raise ConfigError("there are no two answers to choose from", "wait for them, or ask again")
        if pair.choice is not None:
            raise ConfigError("this question has a vote", "ask another one")
        first, second = pair.answers
        vote = Preference(
            question=pair.question,
            run_a=first.run_id,
            run_b=second.run_id,
            answer_a=_answer(first),
            answer_b=_answer(second),
            choice=choice,
            at=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        append_preference(self._results, vote)
        pair.choice = choice
        return pair

    def close(self) -> None:
        """Stop what is being built, wait for the answer under way, and close the systems."""
        self._is_closed = True
        ending = self._thread.submit(self._stack.close)
        while not ending.done():
            # Again and again: a process that is just being started cannot be killed yet.
            if self._building is not None:
                self._building.kill()
            wait([ending], timeout=0.5)
        self._thread.shutdown()


def _answer(asked: Asked) -> str:
    return (asked.record.prediction and asked.record.prediction.answer) or ""


def _told(error: BaseException) -> str:
    """One line for the page; the traceback of a bug goes to the terminal."""
    if isinstance(error, HarnessError | SystemBroken):
        return str(error)
    show_bug(type(error), error, error.__traceback__)
    return "this is a bug: the terminal shows its traceback"
