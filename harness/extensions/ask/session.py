"""Asks the systems of runs new questions: answers with their sources, costs and live judgements."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.api.config_building import evaluation_config, named_judge, prices_of_runs
from harness.api.untrusted_config import judge_settings, reject_untrusted_judges, reject_untrusted_system
from harness.cli.sentence_highlighting import Place, places_of
from harness.config import NO_MODEL
from harness.config.load import parse_setting
from harness.core.errors import ConfigError, HarnessError
from harness.core.records import Document, Query, Reference, RunRecord, Score, Usage
from harness.evaluators.run_scoring import Scorer, score_run
from harness.evaluators.support import supporting_sentences
from harness.protocols import EvaluatorSpec, Measure, RunFacts
from harness.registry import EVALUATORS
from harness.runner.evaluating.models import EvaluationModels, MeteredEvaluation
from harness.runner.evaluating.plan import EvaluationPlan, check_judges, plan_evaluation
from harness.runner.executing.query_time_limit import SuspendableLoop
from harness.runner.live_run_check import LiveRun, live_run
from harness.runner.live_system import LiveSystem, checked_question, open_live
from harness.runner.model_preflight import fetch_weights
from harness.runner.progress import Reporter
from harness.statistics.prices import Prices, usage_usd
from harness.store import RunDir, SampleRow
from harness.store.index_dir import Corpora

_PAYER = "asked"
_SETTABLE = ("models.judge.", "models.judge_embedder.", "per_evaluator.")


def is_of_judge(setting: str) -> bool:
    """Whether a `key=value` is a setting of the judge, and not of the systems."""
    return setting.startswith(_SETTABLE)


@dataclass(frozen=True)
class JudgedLive:
    measure: Measure
    score: Score
    usage: dict[str, Usage]
    """Usage of judging, for all metrics of its evaluator together."""
    usd: float | None


def plan_live(run: RunDir, config: Path | None, settings: Sequence[str], *, trust: bool) -> EvaluationPlan | None:
    """The evaluators with live metrics and their judge. None: no judge is requested, and the run has none.

    HarnessError: the judge, its key or a package is missing, or the run names the judge and is not trusted.
    """
    live = [spec.name for spec in EVALUATORS.load_all()[0] if _live(spec, spec.params())]
    said = [parse_setting(setting)[0] for setting in settings]
    for key in said:
        if not is_of_judge(key):
            what = f"'{key}' is not a setting of the judge, and the system cannot be changed"
            raise ConfigError(what, f"remove it, or set {', '.join(f'{one}...' for one in _SETTABLE)}")
    wanted = set(run.manifest().config.get("evaluators", ())) | {one.evaluator for one in run.evaluations()}
    is_named = config is not None or any(key.startswith("models.judge.") for key in said)
    names = live if is_named else [name for name in live if name in wanted]
    if not names:
        return None
    own = judge_settings(run) if trust and config is None else ()
    plan = plan_evaluation(evaluation_config(run, config, names, (*own, *settings)))
    if config is None and not trust:
        reject_untrusted_judges(run, plan, said)
    check_judges(plan)
    return plan


class LiveJudging:
    """Judges answers, in an event loop of its own, because several systems share it."""

    def __init__(
        self, plan: EvaluationPlan, prices: Prices, folder: Path, reporter: Reporter, stack: ExitStack
    ) -> None:
        """Judgements are saved in `folder`. `stack` closes what is opened."""
        fetch_weights(reporter, *(model for model in (plan.judge, plan.embedder) if plan.needs(model.role)))
        self._plan, self._prices = plan, prices
        self._loop = stack.enter_context(asyncio.Runner(loop_factory=SuspendableLoop))
        models = EvaluationModels(plan, folder, reporter, stack)
        stack.callback(lambda: self._loop.run(models.disconnect()))
        self._runtime = MeteredEvaluation(models, lambda _done, _total, _doing: None)
        self._built = [
            (planned, stack.enter_context(closing(planned.spec.build(planned.params, self._runtime))))
            for planned in plan.evaluators
        ]

    def judge(self, question: str, record: RunRecord) -> tuple[JudgedLive, ...]:
        """The live scores of an answer; none for a failed query."""
        if record.prediction is None:
            return ()
        facts = RunFacts(has_generator=record.prediction.answer is not None)
        reference = Reference(query_id=record.query_id, query_type=_PAYER, answers=())
        row = SampleRow(query=Query(query_id=record.query_id, text=question), reference=reference)
        found: list[JudgedLive] = []
        for planned, evaluator in self._built:
            self._runtime.begin(_PAYER)
            scorer = Scorer(planned.spec.name, _live(planned.spec, planned.params), evaluator)
            scores = self._loop.run(score_run(scorer, [row], {(record.query_id, 0): record}, facts=facts))
            usage = dict(self._runtime.meter.whole_usage)
            usd = usage_usd(self._prices, self._plan.models, usage)
            named = {measure.name: measure for measure in scorer.measures}
            found += [JudgedLive(named[score.measure], score, usage, usd) for score in scores]
        return tuple(found)


def _live(spec: EvaluatorSpec, params: object) -> tuple[Measure, ...]:
    return tuple(measure for measure in spec.measures(params) if measure.live)


@dataclass(frozen=True)
class Asked:
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

    @property
    def tokens(self) -> tuple[int, bool]:
        """Tokens of all its model calls together, and whether that is a lower bound."""
        used = self.record.cost.usage.values()
        return sum(one.input_tokens + one.output_tokens for one in used), any(one.unmetered_calls for one in used)

    @cached_property
    def support(self) -> list[list[Place]]:
        """For each context the places of the evidence that the system names, else of the answer's words."""
        said = self.record.prediction
        if said is None:
            return []
        if said.evidence:
            return [list(places_of(said.evidence, context).values()) for context in said.contexts]
        return supporting_sentences(self.question, said.answer or "", [context.text for context in said.contexts])


class AskedRun:
    """The open system of a run, which can be asked any number of questions."""

    def __init__(self, live: LiveRun, system: LiveSystem, prices: Prices, judging: LiveJudging | None) -> None:
        self.live, self.is_judged = live, judging is not None
        self._system, self._prices, self._judging = system, prices, judging
        self._trouble: list[str] = []

    def ask(self, question: str) -> Asked:
        """The answer. ConfigError for an invalid question, HarnessError if no question can be answered."""
        question = checked_question(question)
        record = self._system.answer(question)
        usd = usage_usd(self._prices, self.live.configuration.identity["models"], record.cost.usage)
        judged = self._judging.judge(question, record) if self._judging else ()
        said = record.prediction
        contexts = (*said.contexts, *said.evidence) if said else ()
        named = dict.fromkeys(doc_id for context in contexts for doc_id in context.doc_ids)
        sources = {one: self._documents[one] for one in named if one in self._documents}
        told, self._system.messages[:] = (*self._trouble, *self._system.messages), []
        return Asked(self.live.run.run_id, question, record, usd, judged, sources, told)

    @cached_property
    def _documents(self) -> dict[str, Document]:
        """The corpus by document id. If it is damaged, answers are shown without titles and dates."""
        digest = self.live.configuration.corpus_digest
        try:
            return {one.doc_id: one for one in Corpora(self.live.results).documents(digest)}
        except HarnessError as error:
            self._trouble.append(f"titles and dates are not shown: {error}")
            return {}


Opening = Callable[[Reporter], AbstractContextManager[list[AskedRun]]]
"""Loads the systems of checked runs."""


def runs_to_ask(
    runs: Sequence[RunDir],
    *,
    judge: str | None = None,
    config: Path | None = None,
    settings: Sequence[str] = (),
    trust: bool = False,
    prices: Path | None = None,
    results: Path = Path("results"),
) -> Opening:
    """Checks these runs before anything is started or paid. HarnessError: one cannot be asked (see
    `harness.runner.live_run_check`), or is named twice.

    `judge`: one for all runs, `PROVIDER/MODEL`, `PROVIDER` or `none`; None: as in `config` and `settings`,
    otherwise that of the first run that uses one. `trust`: use the servers, keys, code and files that the runs
    name. `results`: the folder for calls and judgements.
    """
    if len({run.path.resolve() for run in runs}) < len(runs):
        raise ConfigError("the same run is named twice", "name different runs: rag-harness runs list")
    lives = [live_run(run) for run in runs]
    if not trust:
        for live in lives:
            reject_untrusted_system(live)
    said = (*settings, *named_judge(judge))
    plans = (plan_live(run, config, said, trust=trust) for run in runs if judge != NO_MODEL)
    plan, priced = next(filter(None, plans), None), prices_of_runs(runs, prices)

    @contextmanager
    def opening(reporter: Reporter) -> Iterator[list[AskedRun]]:
        with ExitStack() as stack:
            judging = LiveJudging(plan, priced, results / "judge", reporter, stack) if plan else None
            systems: list[LiveSystem] = []
            for live in lives:
                # Those with the same local generator share its server.
                generator, others = live.configuration.generator, zip(lives, systems, strict=False)
                alike = (one.server for of, one in others if of.configuration.generator == generator)
                server = next(filter(None, alike), None)
                systems.append(stack.enter_context(open_live(live, results / "asked", reporter, server=server)))
            opened = zip(lives, systems, strict=True)
            yield [AskedRun(live, system, priced, judging) for live, system in opened]

    return opening
