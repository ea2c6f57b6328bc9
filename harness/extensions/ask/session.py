"""Asks the system of a run new questions: answers with their sources, costs and judgements."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.api.config_building import named_judge, prices_of_runs
from harness.api.untrusted_config import reject_untrusted_system
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
    """The options of `ask`."""

    judge: str | None = None
    """The judge: `PROVIDER/MODEL`, `PROVIDER` or `none`. None: as in `config` and `settings`, otherwise only if
    the run uses such an evaluator."""
    config: Path | None = None
    """File with judges and their parameters."""
    settings: tuple[str, ...] = ()
    """Settings of judges, `key=value`."""
    trust: bool = False
    """Use the servers, keys, code and files that the run names."""
    prices: Path | None = None
    results: Path = Path("results")
    quiet: bool = False


@dataclass(frozen=True)
class Asked:
    """A question with its answer."""

    run_id: str
    question: str
    record: RunRecord
    usd: float | None
    """None if a model has no price."""
    judged: tuple[JudgedLive, ...]
    sources: dict[str, Document]
    """Document id -> document, for contexts and evidence, if the corpus is stored."""
    told: tuple[str, ...]
    """Messages of the system and its models to the user."""


class AskedRun:
    """The open system of a run, which can be asked any number of questions."""

    def __init__(self, live: LiveRun, system: LiveSystem, prices: Prices, judging: LiveJudging | None) -> None:
        self.live = live
        self._system, self._prices, self._judging = system, prices, judging
        self._trouble: list[str] = []

    @property
    def is_judged(self) -> bool:
        """Whether answers are judged by a model."""
        return self._judging is not None

    def ask(self, question: str) -> Asked:
        """The answer. ConfigError for an invalid question, HarnessError if no question can be answered."""
        question = checked_question(question)
        record = self._system.answer(question)
        usd = usage_usd(self._prices, self.live.manifest.identity["models"], record.cost.usage)
        judged = self._judging.judge(self._system.loop, question, record) if self._judging else ()
        sources = {one: self._documents[one] for one in _named(record) if one in self._documents}
        told, self._system.messages[:] = (*self._trouble, *self._system.messages), []
        return Asked(self.live.run.run_id, question, record, usd, judged, sources, told)

    @cached_property
    def _documents(self) -> dict[str, Document]:
        """The corpus by document id. If it is damaged, answers are shown without titles and dates."""
        digest = str(self.live.manifest.dataset.get("corpus_digest") or "")
        try:
            return {one.doc_id: one for one in Corpora(self.live.results).documents(digest)}
        except HarnessError as error:
            self._trouble.append(f"titles and dates are not shown: {error}")
            return {}


@contextmanager
def open_run(name: str, options: AskOptions) -> Iterator[AskedRun]:
    """The loaded system of a run. `name` may also be the id of an index, for the run that built it.

    HarnessError, before anything is started or paid, if the run cannot be asked: see
    `harness.runner.live_run_check`.
    """
    run = run_named(options.results, name)
    live = live_run(run)
    if not options.trust:
        reject_untrusted_system(run, live)
    prices = prices_of_runs([run], options.prices)
    reporter = Reporter(quiet=options.quiet)
    with ExitStack() as stack:
        judging = _judging(run, prices, options, reporter, stack)
        system = stack.enter_context(open_live(live, options.results / "asked", reporter))
        yield AskedRun(live, system, prices, judging)


def _judging(
    run: RunDir, prices: Prices, options: AskOptions, reporter: Reporter, stack: ExitStack
) -> LiveJudging | None:
    """The judging of its answers, if any."""
    if options.judge == NO_MODEL:
        return None
    wishes = LiveJudgeOptions(options.config, (*options.settings, *named_judge(options.judge)), options.trust)
    plan = plan_live(run, wishes)
    return LiveJudging(plan, prices, options.results / "judge", reporter, stack) if plan else None


def _named(record: RunRecord) -> list[str]:
    """Document ids of its contexts and evidence, each once."""
    said = record.prediction
    shown = (*said.contexts, *said.evidence) if said else ()
    return list(dict.fromkeys(doc_id for context in shown for doc_id in context.doc_ids))
