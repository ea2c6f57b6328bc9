"""Evaluators that ask a judge, over the journal: each request is paid once, and scores are the same bytes."""

from pathlib import Path
from typing import Any

import pytest
from journals import usage_by_role
from scoring import record, reference

from harness.config import JudgeConfig, JudgeEmbedderConfig
from harness.core.records import Context, Cost, Prediction
from harness.models.providers import resolve_embedder, resolve_generator
from harness.registry import EVALUATORS
from harness.runner.evaluating.evaluate import evaluate_runs
from harness.runner.evaluating.plan import EvaluationPlan, PlannedEvaluator
from harness.runner.progress import Reporter
from harness.store import RunDir

from .conftest import MakeRun

REFERENCE = "Ann founded Acme. Acme makes rockets."
CONTEXTS = tuple(Context(text=text, doc_ids=("d",)) for text in ("Cats purr.", "Ann founded Acme."))


@pytest.fixture
def run(make_run: MakeRun) -> RunDir:
    """Three answers to queries with the same contexts and reference."""
    names = [f"q{number}" for number in range(3)]
    said = [Prediction(answer=f"Ann founded Acme in {name}.", contexts=CONTEXTS) for name in names]
    records = [record(name).model_copy(update={"prediction": one}) for name, one in zip(names, said, strict=True)]
    return make_run([reference(name, REFERENCE) for name in names], records)


@pytest.mark.parametrize(
    ("name", "part", "params", "n_calls", "n_paid"),
    [
        ("rag_eval", None, {}, 3, 3),
        ("rag_eval", None, {"calls": "parallel"}, 15, 15),
        # Questions, two verdicts and the triplets of the answer for each row; the reference once. Equal contexts
        # have the same questions.
        ("triplet", {"metrics": ("faithfulness",)}, {}, 3 * 4 + 1, 3 * 3 + 1 + 1),
        pytest.param("ragas", {"metrics": ("faithfulness",)}, {}, 3 * 14, 3 * 8 + 6, marks=pytest.mark.slow),
    ],
)
def test_what_was_asked_before_is_replayed_and_counted(
    tmp_path: Path,
    run: RunDir,
    name: str,
    part: dict[str, Any] | None,
    params: dict[str, Any],
    n_calls: int,
    n_paid: int,
) -> None:
    spec = EVALUATORS.load(name)

    def evaluate(chosen: dict[str, Any]) -> tuple[bytes, Cost, int]:
        planned = PlannedEvaluator(spec, spec.params.model_validate(chosen))
        judge = resolve_generator(JudgeConfig(provider="fake"))
        embedder = resolve_embedder(JudgeEmbedderConfig(provider="fake"))
        plan = EvaluationPlan((planned,), judge, embedder, {})
        assert not evaluate_runs([run], plan, tmp_path / "results", Reporter(quiet=True)).refusals
        (made,) = run.evaluations()
        paid = usage_by_role(tmp_path / "results" / "judge" / "calls.sqlite")["judge"].calls
        return (run.path / "scores" / f"{name}.jsonl").read_bytes(), made.cost, paid

    if part:
        _, cost, paid = evaluate(part)
        assert 0 < paid <= cost.usage["judge"].calls
    scores, first, paid = evaluate(params)
    assert b'"failed"' not in scores
    assert (first.usage["judge"].calls, paid) == (n_calls, n_paid)
    again, second, paid_at_last = evaluate(params)
    assert (again, second.usage, paid_at_last) == (scores, first.usage, paid)
    assert second.replayed_from[run.run_id]["judge"] == first.usage["judge"]
