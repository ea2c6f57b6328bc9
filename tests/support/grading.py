"""An evaluator that requests a number from its judge, and runs for it to score."""

from collections.abc import Sequence
from pathlib import Path

from harness.config import JudgeConfig, JudgeEmbedderConfig
from harness.core.records import Cost, Prediction, Query, Reference, RunRecord, Score
from harness.evaluators.judge_calls import judge_each
from harness.models.model_endpoint import model_identity
from harness.models.providers import resolve_embedder, resolve_generator
from harness.protocols import EvaluationRuntime, EvaluatorSpec, Measure, Message, Params, RunFacts, ScoringInput
from harness.runner.evaluating.plan import EvaluationPlan, PlannedEvaluator
from harness.store import SCHEMA_VERSION, Manifest, RunDir, SampleRow

GRADE = Measure("grade", "what the judge says, 0 to 1", failure_value=0.0, range=(0.0, 1.0))
DOUBT = Measure("doubt", "the same question asked twice in one judgement", failure_value=1.0, range=(0.0, 1.0))


class Grader:
    """Requests a number from the judge."""

    def __init__(self, _params: Params, runtime: EvaluationRuntime) -> None:
        self._runtime = runtime
        self._judge = runtime.judge

    def not_applicable(self, reference: Reference, measure: Measure, run: RunFacts) -> str:
        return ""

    async def evaluate(self, cases: Sequence[ScoringInput]) -> list[Score]:
        return await judge_each(cases, self._runtime, self._grade)

    async def _grade(self, case: ScoringInput, measure: Measure) -> tuple[float, str]:
        prompt = [Message("user", f"{measure.name} of: {case.prediction.answer}")]
        replies = [await self._judge.complete(prompt) for _ in range(2 if measure == DOUBT else 1)]
        return float(replies[-1]), replies[-1]

    def close(self) -> None:
        pass


GRADER = EvaluatorSpec(
    name="grader",
    version="1",
    summary="",
    params=Params,
    measures=lambda _params: (GRADE, DOUBT),
    build=Grader,
    roles=frozenset({"judge"}),
)


def graded_run(results: Path, system: str, answers: Sequence[str | None]) -> RunDir:
    """One query per answer, in the order of their ids; None has no record."""
    manifest = Manifest(
        schema_version=SCHEMA_VERSION,
        run_id=f"demo--{system}--0123456789ab",
        identity={"models": {"generator": {"provider": "fake"}}, "system": {"name": system}, "repeats": 1},
        config={},
        dataset={"name": "demo"},
        index_id="",
        machine={},
        packages={},
        git_commit="",
        created_at="2026-11-22T10:00:00+00:00",
    )
    ids = [f"q{number}" for number in range(len(answers))]
    rows = [
        SampleRow(
            query=Query(query_id=one, text="?"),
            reference=Reference(query_id=one, query_type="inference", answers=("Paris",)),
        )
        for one in ids
    ]
    run = RunDir.create(results, manifest, rows)
    for query_id, answer in zip(ids, answers, strict=True):
        if answer is None:
            continue
        run.append_record(
            RunRecord(
                query_id=query_id,
                repeat=0,
                status="ok",
                prediction=Prediction(answer=answer),
                cost=Cost(wall_s=1.0),
                attempt=1,
                started_at="2026-11-22T10:00:00+00:00",
            )
        )
    return run


def plan_with(judge: JudgeConfig, *specs: EvaluatorSpec) -> EvaluationPlan:
    resolved = resolve_generator(judge)
    return EvaluationPlan(
        evaluators=tuple(PlannedEvaluator(spec, spec.params()) for spec in specs),
        judge=resolved,
        embedder=resolve_embedder(JudgeEmbedderConfig(provider="fake")),
        models={"judge": model_identity(resolved)},
    )


def fake_judge(**options: object) -> JudgeConfig:
    return JudgeConfig(provider="fake", options=options)
