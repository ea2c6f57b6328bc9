"""Scores without a run directory and without a model."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import get_args

from records import run_record

from harness.core.records import (
    Context,
    ContextKind,
    Cost,
    EvaluationRecord,
    Evidence,
    Failure,
    Prediction,
    Query,
    Reference,
    RunRecord,
    Score,
)
from harness.evaluators.answer import SPEC
from harness.evaluators.run_answers import RunAnswers
from harness.evaluators.run_scoring import Scorer, score_run
from harness.evaluators.triplet.verdicts import TripletMetric
from harness.protocols import ChatModel, Embedder, EvaluatorSpec, Params, RunFacts
from harness.store import RunDir, SampleRow


class BareEvaluation:
    """An `EvaluationRuntime` that charges nobody; the test supplies `judge` and `embedder`."""

    seed = 0
    concurrency = 2

    def __init__(self, judge: ChatModel | None = None, embedder: Embedder | None = None) -> None:
        self._judge, self._embedder = judge, embedder
        self.told: list[tuple[int, int, str]] = []

    @property
    def judge(self) -> ChatModel:
        assert self._judge is not None
        return self._judge

    @property
    def embedder(self) -> Embedder:
        assert self._embedder is not None
        return self._embedder

    @contextmanager
    def charge(self) -> Iterator[None]:
        yield

    def progress(self, done: int, total: int, doing: str) -> None:
        self.told.append((done, total, doing))


def build_scorer(
    spec: EvaluatorSpec, params: Params | None = None, runtime: BareEvaluation | None = None
) -> Scorer:
    """The evaluator of a spec, by default with default parameters."""
    chosen = params or spec.params()
    return Scorer(spec.name, spec.measures(chosen), spec.build(chosen, runtime or BareEvaluation()))


def every_metric(spec: EvaluatorSpec) -> Params:
    """Default parameters, with the metrics that are left out by default."""
    return spec.params.model_validate({"metrics": get_args(TripletMetric)} if spec.name == "triplet" else {})


def score_all(
    scorer: Scorer,
    references: Sequence[Reference],
    records: Mapping[tuple[str, int], RunRecord],
    repeats: int = 1,
    facts: RunFacts | None = None,
) -> list[Score]:
    """Every score of these records; the text of each query is its id."""
    rows = [SampleRow(query=Query(query_id=one.query_id, text=one.query_id), reference=one) for one in references]
    return asyncio.run(score_run(scorer, rows, records, repeats, facts))


def score_one(
    of: EvaluatorSpec | Scorer,
    said: Prediction | Failure,
    *,
    answers: Sequence[str] = ("x",),
    evidence: Sequence[tuple[str, str]] = (),
    question: str = "q",
    params: Params | None = None,
    runtime: BareEvaluation | None = None,
    facts: RunFacts | None = None,
) -> dict[str, Score]:
    """The scores of one answer by measure. `evidence`: document and fact of each piece."""
    scorer = of if isinstance(of, Scorer) else build_scorer(of, params, runtime)
    pieces = tuple(Evidence(doc_id=doc_id, fact=fact) for doc_id, fact in evidence)
    gold = Reference(query_id=question, query_type="any", answers=tuple(answers), evidence=pieces)
    found = score_all(scorer, [gold], {(question, 0): run_record(question, said)}, facts=facts)
    return {score.measure: score for score in found}


def reference(query_id: str, *answers: str, query_type: str = "inference_query") -> Reference:
    return Reference(query_id=query_id, query_type=query_type, answers=answers)


def record(query_id: str, answer: str | None = None, *, repeat: int = 0, error: str = "") -> RunRecord:
    """record("q1", "Yes"); record("q1", error="boom"); record("q1") without a generator."""
    said = Failure(kind="ValueError", message=error) if error else Prediction(answer=answer)
    return run_record(query_id, said, repeat=repeat)


def answered(query_id: str, answer: str | None, *contexts: str) -> RunRecord:
    return run_record(query_id, Prediction(answer=answer, contexts=passages(*contexts)))


def passages(*texts: str, kind: ContextKind = "passage") -> tuple[Context, ...]:
    return tuple(Context(text=text, doc_ids=("d",), kind=kind) for text in texts)


def score_run_answers(run: RunDir) -> list[Score]:
    """Score a run directory with the answer evaluator and write the scores."""
    scorer = build_scorer(SPEC)
    scores = scores_of_run(run, scorer)
    measures = tuple(measure.name for measure in scorer.measures)
    run.write_scores(evaluation(scorer.name).model_copy(update={"measures": measures}), scores)
    return scores


def scores_of_run(run: RunDir, scorer: Scorer) -> list[Score]:
    """Every score of a run directory's answers; nothing is written."""
    return asyncio.run(_all_parts(run, scorer))


async def _all_parts(run: RunDir, scorer: Scorer) -> list[Score]:
    return [score async for part in RunAnswers(run).scored(scorer) for score in part]


def evaluation(evaluator: str) -> EvaluationRecord:
    """The evaluation record of free scores."""
    return EvaluationRecord(evaluator=evaluator, version="1", cost=Cost(wall_s=0.0))
