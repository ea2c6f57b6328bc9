"""Answers to score: correct, wrong, missing and unusual ones, on queries of the demo and our own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.core.records import (
    REPORTED_SCORE,
    Context,
    Cost,
    Evidence,
    Prediction,
    Query,
    Reference,
    RunRecord,
    Step,
    Triplet,
)
from harness.datasets import QuerySample, load_dataset
from harness.protocols import Evaluator, Measure, RunFacts, ScoringInput
from harness.registry import DATASETS

_ABSTENTION = "I don't know."
_ODD = "a\x00b\r\n潮汐 \U0001f30a \u202e {x} %s </s> <|im_end|> ```json\n{}\n```"
_PASSAGE = "Tidewright Power built the Gull Sound array. Ingrid Solvane is its chief executive."
_TRIPLETS = (
    Triplet("Tidewright Power", "built", "Gull Sound array"),
    Triplet("Ingrid Solvane", "is chief executive of", "Tidewright Power"),
)


@dataclass(frozen=True)
class AnsweredQuery:
    """An answered query with its reference, before metrics are selected."""

    query: Query
    reference: Reference
    record: RunRecord


def answers_to_score() -> list[AnsweredQuery]:
    """A few of each kind; ids are unique, documents are from the demo."""
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
    answered: Sequence[AnsweredQuery], evaluator: Evaluator, measures: Sequence[Measure]
) -> list[ScoringInput]:
    """The cases to which a metric applies, each with these metrics."""
    cases = []
    for one in answered:
        applying = tuple(
            measure for measure in measures if not evaluator.not_applicable(one.reference, measure, RunFacts())
        )
        if applying:
            cases.append(ScoringInput(one.query, one.reference, one.record, applying))
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


def _answered(query_id: str, text: str, reference: Reference, prediction: Prediction) -> AnsweredQuery:
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
    return AnsweredQuery(Query(query_id=query_id, text=text), own, record)
