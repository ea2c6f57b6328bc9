"""Judges an answer as soon as it is given, by the metrics that need no reference (`Measure.live`)."""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from harness.api.config_building import evaluation_config
from harness.api.untrusted_config import judge_settings, reject_untrusted_judges
from harness.config.load import parse_setting
from harness.core.errors import ConfigError
from harness.core.records import Query, Reference, RunRecord, Score, Usage
from harness.evaluators.run_scoring import Scorer, score_run
from harness.protocols import EvaluatorSpec, Measure, RunFacts
from harness.registry import EVALUATORS
from harness.runner.evaluating.models import EvaluationModels, MeteredEvaluation
from harness.runner.evaluating.plan import EvaluationPlan, check_judges, plan_evaluation
from harness.runner.model_preflight import fetch_weights
from harness.runner.progress import Reporter
from harness.statistics.prices import Prices, usage_usd
from harness.store import RunDir, SampleRow

_PAYER = "asked"
_SETTABLE = ("models.judge.", "models.judge_embedder.", "per_evaluator.")


@dataclass(frozen=True)
class LiveJudgeOptions:
    """The requested judge."""

    config: Path | None
    settings: tuple[str, ...]
    trust: bool
    """Also use the judge in the config of the run."""


@dataclass(frozen=True)
class JudgedLive:
    """One score of an answer."""

    measure: Measure
    score: Score
    usage: dict[str, Usage]
    """Usage of judging, for all metrics of its evaluator together."""
    usd: float | None


def plan_live(run: RunDir, wishes: LiveJudgeOptions) -> EvaluationPlan | None:
    """The evaluators with live metrics and their judge. None if no judge is requested and the run uses none of
    these evaluators.

    HarnessError if the judge, its key or a package is missing, or if the run names the judge and is not trusted.
    """
    live = [spec.name for spec in EVALUATORS.load_all()[0] if _live(spec, spec.params())]
    said = [parse_setting(setting)[0] for setting in wishes.settings]
    for key in said:
        if not key.startswith(_SETTABLE):
            what = f"'{key}' is not a setting of the judge, and the system cannot be changed"
            raise ConfigError(what, f"remove it, or set {', '.join(f'{one}...' for one in _SETTABLE)}")
    wanted = set(run.manifest().config.get("evaluators", ())) | {one.evaluator for one in run.evaluations()}
    is_named = wishes.config is not None or any(key.startswith("models.judge.") for key in said)
    names = live if is_named else [name for name in live if name in wanted]
    if not names:
        return None
    own = judge_settings(run) if wishes.trust and wishes.config is None else ()
    plan = plan_evaluation(evaluation_config(run, wishes.config, names, (*own, *wishes.settings)))
    if wishes.config is None and not wishes.trust:
        reject_untrusted_judges(run, plan, said)
    check_judges(plan)
    return plan


class LiveJudging:
    """The evaluators of a plan, ready to judge answers."""

    def __init__(
        self, plan: EvaluationPlan, prices: Prices, folder: Path, reporter: Reporter, stack: ExitStack
    ) -> None:
        """Judgements are saved in `folder`. `stack` closes what is opened."""
        fetch_weights(reporter, *(model for model in (plan.judge, plan.embedder) if plan.needs(model.role)))
        self._plan, self._prices = plan, prices
        models = EvaluationModels(plan, folder, reporter, stack)
        self._runtime = MeteredEvaluation(models, lambda _done, _total, _doing: None)
        self._built = [
            (planned, stack.enter_context(closing(planned.spec.build(planned.params, self._runtime))))
            for planned in plan.evaluators
        ]

    def judge(self, loop: asyncio.Runner, question: str, record: RunRecord) -> tuple[JudgedLive, ...]:
        """The live scores of an answer; none for a failed query."""
        if record.prediction is None:
            return ()
        facts = RunFacts(has_generator=record.prediction.answer is not None)
        query = Query(query_id=record.query_id, text=question)
        row = SampleRow(query=query, reference=Reference(query_id=query.query_id, query_type=_PAYER, answers=()))
        found: list[JudgedLive] = []
        for planned, evaluator in self._built:
            self._runtime.begin(_PAYER)
            scorer = Scorer(planned.spec.name, _live(planned.spec, planned.params), evaluator)
            scores = loop.run(score_run(scorer, [row], {(record.query_id, 0): record}, facts=facts))
            found += self._judged(scorer.measures, scores)
        return tuple(found)

    def _judged(self, measures: Sequence[Measure], scores: Sequence[Score]) -> list[JudgedLive]:
        usage = dict(self._runtime.meter.whole_usage)
        usd = usage_usd(self._prices, self._plan.models, usage)
        named = {measure.name: measure for measure in measures}
        return [JudgedLive(named[score.measure], score, usage, usd) for score in scores]


def _live(spec: EvaluatorSpec, params: object) -> tuple[Measure, ...]:
    return tuple(measure for measure in spec.measures(params) if measure.live)
