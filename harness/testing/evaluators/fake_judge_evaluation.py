"""Runs an evaluator with the fake judge and embedder behind the real call context, over one journal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.config import JudgeConfig, JudgeEmbedderConfig
from harness.core.records import Score
from harness.models.embedding_cache import EmbeddingCache
from harness.models.metering import Meter
from harness.models.providers import resolve_embedder, resolve_generator
from harness.protocols import ChatModel, Embedder, Evaluator, EvaluatorSpec, Params, ScoringInput
from harness.runner.evaluating.models import EvaluationModels, MeteredEvaluation
from harness.runner.evaluating.plan import EvaluationPlan
from harness.runner.progress import Reporter

QueryMeasure = tuple[str, str]
"""Query id and measure."""


@dataclass(frozen=True)
class OpenEvaluation:
    """An open evaluator: its scores and its calls."""

    evaluator: Evaluator
    runtime: NamedModels

    async def scores(self, cases: Sequence[ScoringInput]) -> list[Score]:
        """The scores of these cases."""
        return list(await self.evaluator.evaluate(cases))

    @property
    def meter(self) -> Meter:
        """The calls so far."""
        return self.runtime.meter

    @property
    def roles_called(self) -> set[str]:
        """The models that were called so far."""
        embedded = self.meter.embedded_texts + self.meter.cached_texts
        called = {role for role, usage in self.meter.usage.items() if usage.calls}
        return called | ({"judge_embedder"} if embedded else set())


class NamedModels(MeteredEvaluation):
    """The runtime of an evaluation. It has only the models that the evaluator's spec names."""

    def __init__(self, models: EvaluationModels, spec: EvaluatorSpec) -> None:
        super().__init__(models, lambda _done, _total, _doing: None)
        self._roles = spec.roles

    @property
    def judge(self) -> ChatModel:
        """RuntimeError if the spec names none."""
        if "judge" not in self._roles:
            raise RuntimeError("the evaluator's spec names no judge: see roles")
        return super().judge

    @property
    def embedder(self) -> Embedder:
        """RuntimeError if the spec names none."""
        if "judge_embedder" not in self._roles:
            raise RuntimeError("the evaluator's spec names no judge_embedder: see roles")
        return super().embedder


class _OwnVectors(EvaluationModels):
    """Does not share vectors with other evaluations, so that embedding calls are counted."""

    @cached_property
    def _cache(self) -> EmbeddingCache:
        return self._stack.enter_context(closing(EmbeddingCache(self._folder / "embeddings.sqlite", "fake")))


@dataclass(frozen=True)
class ChosenEvaluator:
    """A registered evaluator with parameters."""

    spec: EvaluatorSpec
    params: Params
    script: dict[str, Any] = field(default_factory=dict)
    """Options of the fake judge."""

    @contextmanager
    def opened(self, folder: Path, **faults: Any) -> Iterator[OpenEvaluation]:
        """The evaluator over the journal in `folder`, closed at the end; `faults`: faults of the fake judge."""
        judge = JudgeConfig(provider="fake", max_retries=0, options={**self.script, **faults})
        plan = EvaluationPlan(
            evaluators=(),
            judge=resolve_generator(judge),
            embedder=resolve_embedder(JudgeEmbedderConfig(provider="fake", max_retries=0)),
            models={},
        )
        with ExitStack() as stack:
            runtime = NamedModels(_OwnVectors(plan, folder, Reporter(quiet=True), stack), self.spec)
            runtime.begin("the run under test")
            evaluator = stack.enter_context(closing(self.spec.build(self.params, runtime)))
            yield OpenEvaluation(evaluator, runtime)


def by_key(scores: Iterable[Score]) -> dict[QueryMeasure, Score]:
    """Scores by query, repeat and metric."""
    return {(score.query_id, score.measure): score for score in scores}
