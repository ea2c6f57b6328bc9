"""From records to scores: exactly one for every (query, repeat, measure), so that no failure leaves a denominator.

| the record | the score |
|--|--|
| the measure does not apply to this query | `not_applicable`, with the evaluator's reason |
| there is none yet | `failed`: no record, the run is unfinished |
| it ended in an error or a timeout | `imputed`: the measure's failure value, explained by the failure |
| the evaluator raised, or left the score out | `failed`, with the reason |
| otherwise | what the evaluator says |
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from harness.errors import HarnessError, RunInterrupted
from harness.protocols import Evaluator, Measure
from harness.records import Reference, RunRecord, Score, ScoreStatus
from harness.store import RunDir

NO_RECORD = "no record: the run is unfinished"
NO_GENERATOR = "the run has no generator"
LONGEST_EXPLANATION = 240

Pair = tuple[Reference, RunRecord]
ScoreKey = tuple[str, int, str]


@runtime_checkable
class Selective(Protocol):
    """What an evaluator adds if some of its measures apply to some queries only; optional."""

    def not_applicable(self, reference: Reference, measure: Measure, *, has_generator: bool) -> str:
        """Why `measure` does not apply to this query; empty where it does. Decided by the gold side alone, so
        that a failed query has the same denominator as an answered one.
        """
        ...


def evaluate_run(run: RunDir, evaluator: Evaluator) -> list[Score]:
    """Score a run, finished or not, and write scores/<evaluator>.jsonl; the same records give the same bytes."""
    identity = run.manifest().identity
    scores = score_run(
        evaluator,
        [row.reference for row in run.sample()],
        run.records(),
        int(identity.get("repeats", 1)),
        has_generator=identity.get("models", {}).get("generator", {}).get("provider") != "none",
    )
    run.write_scores(evaluator.name, scores)
    return scores


def score_run(
    evaluator: Evaluator,
    references: Sequence[Reference],
    records: Mapping[tuple[str, int], RunRecord],
    repeats: int,
    *,
    has_generator: bool = True,
) -> list[Score]:
    """One score for every (query, repeat, measure), sorted by them; the table above says which.

    `references` are the sampled queries, repeats count from 0; a record of anything else is passed over. A
    `HarnessError` (say, the judge's server is down) or an interrupt ends the evaluation; any other exception
    fails only the pair that caused it.
    """
    scores: dict[ScoreKey, Score] = {}
    pairs: list[Pair] = []
    for reference, repeat in itertools.product(references, range(repeats)):
        record = records.get((reference.query_id, repeat))
        settled = _settled(evaluator, reference, repeat, record, has_generator)
        scores.update((_key(score), score) for score in settled)
        if record is not None and len(settled) < len(evaluator.measures):
            pairs.append((reference, record))
    for key, score in _evaluated(evaluator, pairs).items():
        scores.setdefault(key, score)
    return [scores[key] for key in sorted(scores)]


def _settled(
    evaluator: Evaluator, reference: Reference, repeat: int, record: RunRecord | None, has_generator: bool
) -> list[Score]:
    """The scores of this query that need no evaluator."""
    answered = has_generator and not (record and record.prediction and record.prediction.answer is None)
    settled = []
    for measure in evaluator.measures:
        reason = ""
        if isinstance(evaluator, Selective):
            reason = evaluator.not_applicable(reference, measure, has_generator=answered)
        key = (reference.query_id, repeat, measure.name)
        if reason:
            settled.append(_score(key, "not_applicable", reason))
        elif record is None:
            settled.append(_score(key, "failed", NO_RECORD))
        elif record.prediction is None:
            failure = record.failure
            reason = f"{failure.kind}: {failure.message}" if failure else record.status
            settled.append(_score(key, "imputed", reason, measure.failure_value))
    return settled


def _evaluated(evaluator: Evaluator, pairs: Sequence[Pair]) -> dict[ScoreKey, Score]:
    """Every (pair, measure), evaluated together if that works, otherwise pair by pair."""
    if not pairs:
        return {}
    try:
        return _checked(evaluator, pairs)
    except (HarnessError, RunInterrupted):
        raise
    except Exception as error:
        if len(pairs) == 1:
            reason = f"{type(error).__name__}: {error}"
            return {key: _score(key, "failed", reason) for key in _asked(evaluator, pairs)}
    scores: dict[ScoreKey, Score] = {}
    for pair in pairs:
        scores.update(_evaluated(evaluator, [pair]))
    return scores


def _checked(evaluator: Evaluator, pairs: Sequence[Pair]) -> dict[ScoreKey, Score]:
    """What the evaluator returned; ValueError where it broke its contract."""
    asked = _asked(evaluator, pairs)
    found: dict[ScoreKey, Score] = {}
    for score in evaluator.evaluate(pairs):
        key = _key(score)
        if key not in asked:
            raise ValueError(f"{evaluator.name} scored {key}, which it was not asked for")
        if key in found:
            raise ValueError(f"{evaluator.name} scored {key} twice")
        if asked[key].binary and score.value not in {None, 0, 1}:
            raise ValueError(f"{score.measure} is binary, but its value is {score.value}")
        found[key] = score
    return {key: found.get(key) or _score(key, "failed", f"{evaluator.name} gave no score") for key in asked}


def _asked(evaluator: Evaluator, pairs: Sequence[Pair]) -> dict[ScoreKey, Measure]:
    return {
        (reference.query_id, record.repeat, measure.name): measure
        for reference, record in pairs
        for measure in evaluator.measures
    }


def _key(score: Score) -> ScoreKey:
    return score.query_id, score.repeat, score.measure


def _score(key: ScoreKey, status: ScoreStatus, explanation: str, value: float | None = None) -> Score:
    query_id, repeat, measure = key
    return Score(
        query_id=query_id,
        repeat=repeat,
        measure=measure,
        status=status,
        value=value,
        explanation=bounded(explanation, LONGEST_EXPLANATION),
    )


def bounded(text: str, longest: int) -> str:
    """`text` on one line, cut to `longest` characters."""
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
