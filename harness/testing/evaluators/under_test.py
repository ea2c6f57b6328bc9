"""The evaluator under test: its answers to score, its models, and its scores, each created once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import pytest

from harness.config import JudgeConfig, JudgeEmbedderConfig
from harness.core.records import (
    REPORTED_SCORE,
    Context,
    Cost,
    Evidence,
    Prediction,
    Query,
    Reference,
    RunRecord,
    Score,
    Step,
    Triplet,
)
from harness.datasets import QuerySample, load_dataset
from harness.models.embedding_cache import EmbeddingCache
from harness.models.metering import Meter
from harness.models.providers import resolve_embedder, resolve_generator
from harness.protocols import (
    ChatModel,
    Embedder,
    Evaluator,
    EvaluatorSpec,
    Measure,
    Params,
    RunFacts,
    ScoringInput,
)
from harness.registry import DATASETS, EVALUATORS
from harness.runner.evaluating.models import EvaluationModels, MeteredEvaluation
from harness.runner.evaluating.plan import EvaluationPlan
from harness.runner.progress import Reporter

_ABSTENTION = "I don't know."
_ODD = "a\x00b\r\n潮汐 \U0001f30a \u202e {x} %s </s> <|im_end|> ```json\n{}\n```"
_PASSAGE = "Tidewright Power built the Gull Sound array. Ingrid Solvane is its chief executive."
_TRIPLETS = (
    Triplet("Tidewright Power", "built", "Gull Sound array"),
    Triplet("Ingrid Solvane", "is chief executive of", "Tidewright Power"),
)


def answers_to_score() -> list[ScoringInput]:
    """A few of each kind, before metrics are selected; ids are unique, documents are from the demo."""
    demo = load_dataset(DATASETS.load("demo"), sample=QuerySample(per_type=1, seed=3))
    answered = [
        _answered(f"{query.query_id} {kind}", query.text, reference, prediction)
        for query, reference in zip(demo.queries, demo.references, strict=True)
        for kind, prediction in _predictions(reference)
    ]
    own = Reference(
        query_id="own",
        query_type="own",
        answers=("Tidewright Power", "Tidewright"),
        evidence=(Evidence(doc_id="d", fact="Tidewright Power built the Gull Sound array."),),
    )
    question = "Who built the Gull Sound array?"
    unnamed = own.model_copy(update={"query_id": "unnamed", "evidence": ()})
    predictions = list(_own_predictions())
    return [
        *answered,
        *(_answered(f"own {kind}", question, own, prediction) for kind, prediction in predictions),
        _answered("evidence unnamed", question, unnamed, predictions[0][1]),
    ]


def cases_of(
    answered: Sequence[ScoringInput], evaluator: Evaluator, measures: Sequence[Measure]
) -> list[ScoringInput]:
    """The cases to which a metric applies, each with these metrics."""
    cases = []
    for one in answered:
        applying = tuple(
            measure for measure in measures if not evaluator.not_applicable(one.reference, measure, RunFacts())
        )
        if applying:
            cases.append(replace(one, measures=applying))
    return cases


def references_without_a_side() -> list[Reference]:
    """References with one part missing."""
    return [
        Reference(query_id="no answer", query_type="own", answers=()),
        Reference(query_id="null", query_type="own", answers=("Insufficient information.",)),
        Reference(query_id="no evidence", query_type="own", answers=("Tidewright Power",)),
    ]


def _predictions(reference: Reference) -> Iterator[tuple[str, Prediction]]:
    contexts = tuple(
        Context(text=item.fact, doc_ids=(item.doc_id,), score=1.0 / rank)
        for rank, item in enumerate(reference.evidence, start=1)
    )
    passage = Context(text=_PASSAGE, doc_ids=("d",), score=0.1)
    proof = tuple(context.model_copy(update={"kind": "sentence"}) for context in contexts)
    yield "right", Prediction(answer=reference.answers[0], contexts=(*contexts, passage), evidence=proof)
    yield "refused", Prediction(answer=_ABSTENTION, contexts=(passage,))


def _own_predictions() -> Iterator[tuple[str, Prediction]]:
    passage = Context(text=_PASSAGE, doc_ids=("d",), score=0.5, triplets=_TRIPLETS)
    given = (Step(name=REPORTED_SCORE, content="0.5"),)
    sentence = "Tidewright Power built the Gull Sound array."
    yield "sentence", Prediction(answer=sentence, contexts=(passage,), trace=given)
    yield "wrong", Prediction(answer="Ingrid Solvane built the Gull Sound array.", contexts=(passage, passage))
    yield "empty", Prediction(answer="", contexts=(passage,))
    yield "without contexts", Prediction(answer="Tidewright Power")
    yield "odd", Prediction(answer=_ODD, contexts=(Context(text=_ODD, doc_ids=("d",)),))
    yield "long", Prediction(answer="Tidewright Power is it. " * 200, contexts=(passage,))


def _answered(query_id: str, text: str, reference: Reference, prediction: Prediction) -> ScoringInput:
    record = RunRecord(
        query_id=query_id,
        repeat=0,
        status="ok",
        prediction=prediction,
        cost=Cost(wall_s=1.0),
        attempt=1,
        started_at="2026-01-01T00:00:00+00:00",
    )
    own = reference.model_copy(update={"query_id": query_id})
    return ScoringInput(Query(query_id=query_id, text=text), own, record, ())


QueryMeasure = tuple[str, str]
"""Query id and measure."""


@dataclass(frozen=True)
class OpenEvaluation:
    evaluator: Evaluator
    runtime: NamedModels

    def scores(self, cases: Sequence[ScoringInput]) -> list[Score]:
        return list(asyncio.run(self.evaluator.evaluate(cases)))

    @property
    def meter(self) -> Meter:
        return self.runtime.meter

    @property
    def roles_called(self) -> set[str]:
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
        if "judge" not in self._roles:
            raise RuntimeError("the evaluator's spec names no judge: see roles")
        return super().judge

    @property
    def embedder(self) -> Embedder:
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
    return {(score.query_id, score.measure): score for score in scores}


@dataclass(frozen=True)
class FirstEvaluation:
    cases: list[ScoringInput]
    scores: list[Score]
    roles_called: set[str]


class EvaluatorUnderTest:
    name: ClassVar[str] = ""
    """The name under which it is registered."""
    params: ClassVar[Mapping[str, Any]] = {}
    """Parameters that differ from the defaults."""
    judge_script: ClassVar[Mapping[str, Any]] = {}
    """Replies of the fake judge (`models.judge.options` of the provider fake); empty: JSON that matches the schema
    of a request, or a word of the prompt.
    """

    @pytest.fixture(scope="class")
    @classmethod
    def evaluator(cls) -> ChosenEvaluator:
        """The evaluator with its parameters, if its requirements are installed."""
        assert cls.name, f"{cls.__name__} must name the evaluator to test: name = '...'"
        spec = EVALUATORS.load(cls.name)
        params = spec.params.model_validate(dict(cls.params))
        if spec.preflight:
            spec.preflight(params)
        return ChosenEvaluator(spec, params, dict(cls.judge_script))

    @pytest.fixture(scope="class")
    @classmethod
    def measures(cls, evaluator: ChosenEvaluator) -> tuple[Measure, ...]:
        return evaluator.spec.measures(evaluator.params)

    @pytest.fixture(scope="class")
    @classmethod
    def answered(cls) -> list[ScoringInput]:
        return answers_to_score()

    @pytest.fixture(scope="class")
    @classmethod
    def journal(cls, tmp_path_factory: pytest.TempPathFactory) -> Path:
        return tmp_path_factory.mktemp("journal")

    @pytest.fixture(scope="class")
    @classmethod
    def first(
        cls,
        evaluator: ChosenEvaluator,
        measures: tuple[Measure, ...],
        answered: list[ScoringInput],
        journal: Path,
    ) -> FirstEvaluation:
        with evaluator.opened(journal) as evaluation:
            cases = cases_of(answered, evaluation.evaluator, measures)
            return FirstEvaluation(cases, evaluation.scores(cases), evaluation.roles_called)
