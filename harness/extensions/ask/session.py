"""A run's system, asked a question of one's own: the answer, what it rests on, and how far it can be trusted."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.api.config_building import named_judge, prices_of_runs
from harness.api.config_of_a_run import refuse_unsaid_system
from harness.config import NO_MODEL
from harness.core.errors import HarnessError
from harness.core.records import Document, RunRecord
from harness.extensions.ask.confidence import JudgedLive, LiveJudgeOptions, LiveJudging, plan_live
from harness.runner.live_run_check import LiveRun, live_run, run_named
from harness.runner.live_system import LiveSystem, checked_question, open_live
from harness.runner.progress import Reporter
from harness.statistics.prices import Prices, usage_usd
from harness.store import RunDir
from harness.store.index_dir import Corpora


@dataclass(frozen=True)
class AskOptions:
    """What is said beyond the run's own config."""

    judge: str | None = None
    """Who judges answers, `PROVIDER/MODEL` or `PROVIDER`, or `none`; None: as `config` and `settings` say, and
    where they say nothing, nobody judges unless the run was to be scored so."""
    config: Path | None = None
    """Judges and their parameters from this file."""
    settings: tuple[str, ...] = ()
    """Likewise, `key=value`."""
    trust: bool = False
    """The run may name servers, keys, code and files."""
    prices: Path | None = None
    results: Path = Path("results")
    quiet: bool = False


@dataclass(frozen=True)
class Asked:
    """One question and what came of it."""

    run_id: str
    question: str
    record: RunRecord
    usd: float | None
    """None: no price is known."""
    judged: tuple[JudgedLive, ...]
    sources: dict[str, Document]
    """The documents that contexts and evidence name, by id, where the corpus is kept."""
    told: tuple[str, ...]
    """What the system or its models had to say to whoever waits."""


class AskedRun:
    """A run's system while it is open: `ask` it as often as you like."""

    def __init__(self, live: LiveRun, system: LiveSystem, prices: Prices, judging: LiveJudging | None) -> None:
        self.live = live
        self._system, self._prices, self._judging = system, prices, judging
        self._trouble: list[str] = []

    @property
    def is_judged(self) -> bool:
        """Whether a model says how far an answer can be trusted."""
        return self._judging is not None

    def ask(self, question: str) -> Asked:
        """The answer; ConfigError for what is no question, HarnessError where no question could be answered."""
        question = checked_question(question)
        record = self._system.answer(question)
        usd = usage_usd(self._prices, self.live.manifest.identity["models"], record.cost.usage)
        judged = self._judging.judge(self._system.loop, question, record) if self._judging else ()
        sources = {one: self._documents[one] for one in _named(record) if one in self._documents}
        told, self._system.told[:] = (*self._trouble, *self._system.told), []
        return Asked(self.live.run.run_id, question, record, usd, judged, sources, told)

    @cached_property
    def _documents(self) -> dict[str, Document]:
        """The corpus; one that is damaged takes titles and dates from an answer, and no more."""
        digest = str(self.live.manifest.dataset.get("corpus_digest") or "")
        try:
            return {one.doc_id: one for one in Corpora(self.live.results).documents(digest)}
        except HarnessError as error:
            self._trouble.append(f"titles and dates are left out: {error}")
            return {}


@contextmanager
def open_run(name: str, options: AskOptions) -> Iterator[AskedRun]:
    """The system of a run, or of the run that built the index of that id, loaded and ready to be asked.

    HarnessError, before anything is started or paid, where the run cannot be asked: see
    `harness.runner.live_run_check`.
    """
    run = run_named(options.results, name)
    live = live_run(run)
    if not options.trust:
        refuse_unsaid_system(run, live)
    prices = prices_of_runs([run], options.prices)
    reporter = Reporter(quiet=options.quiet)
    with ExitStack() as stack:
        judging = _judging(run, prices, options, reporter, stack)
        system = stack.enter_context(open_live(live, options.results / "asked", reporter))
        yield AskedRun(live, system, prices, judging)


def _judging(
    run: RunDir, prices: Prices, options: AskOptions, reporter: Reporter, stack: ExitStack
) -> LiveJudging | None:
    """Who judges its answers; None: nobody."""
    if options.judge == NO_MODEL:
        return None
    wishes = LiveJudgeOptions(options.config, (*options.settings, *named_judge(options.judge)), options.trust)
    plan = plan_live(run, wishes)
    return LiveJudging(plan, prices, options.results / "judge", reporter, stack) if plan else None


def _named(record: RunRecord) -> list[str]:
    """Ids of the documents of its contexts and evidence, each once."""
    said = record.prediction
    shown = (*said.contexts, *said.evidence) if said else ()
    return list(dict.fromkeys(doc_id for context in shown for doc_id in context.doc_ids))
