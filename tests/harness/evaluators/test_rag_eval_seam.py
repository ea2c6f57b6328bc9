"""RAG-Eval over the journal: what a row costs, and that it is paid once."""

from pathlib import Path

import pytest

from harness.config import JudgeConfig, JudgeEmbedderConfig
from harness.core.records import Context, Cost, Prediction
from harness.evaluators.rag_eval import SPEC, RagEvalParams
from harness.models.providers import resolve_embedder, resolve_generator
from harness.runner.evaluating.evaluate import evaluate_runs
from harness.runner.evaluating.plan import EvaluationPlan, PlannedEvaluator
from harness.runner.progress import Reporter
from harness.store import RunDir

from .conftest import MakeRecord, MakeReference, MakeRun

N_ROWS = 3


@pytest.fixture
def run(make_run: MakeRun, record: MakeRecord, reference: MakeReference) -> RunDir:
    names = [f"q{number}" for number in range(N_ROWS)]
    predictions = [
        Prediction(answer=f"{name} is it.", contexts=(Context(text=f"It is {name}.", doc_ids=("d",)),))
        for name in names
    ]
    records = [
        record(name).model_copy(update={"prediction": one}) for name, one in zip(names, predictions, strict=True)
    ]
    return make_run([reference(name, "Ann") for name in names], records)


@pytest.mark.parametrize(("params", "calls_a_row"), [(RagEvalParams(), 1), (RagEvalParams(calls="parallel"), 5)])
def test_a_row_is_one_call_or_five_and_a_second_evaluation_pays_nothing_and_writes_the_same_bytes(
    tmp_path: Path, run: RunDir, params: RagEvalParams, calls_a_row: int
) -> None:
    judge = resolve_generator(JudgeConfig(provider="fake"))
    plan = EvaluationPlan((PlannedEvaluator(SPEC, params),), judge, resolve_embedder(JudgeEmbedderConfig()), {})

    def evaluate() -> tuple[bytes, Cost]:
        outcome = evaluate_runs([run], plan, tmp_path / "results", Reporter(quiet=True))
        assert [(one.n_counted, one.n_failed) for one in outcome.evaluated] == [(N_ROWS * 8, 0)]
        (made,) = run.evaluations()
        return (run.path / "scores" / "rag_eval.jsonl").read_bytes(), made.cost

    scores, first = evaluate()
    assert first.usage["judge"].calls == N_ROWS * calls_a_row
    assert not first.replayed_from
    again, second = evaluate()
    assert again == scores
    assert second.usage == first.usage
    assert second.replayed_from == {run.run_id: first.usage}
