"""From records to scores: exactly one for every (query, repeat, metric). So failures stay in the denominator.

| the record | the score |
|--|--|
| the metric does not apply to this query | `not_applicable`, with the evaluator's reason |
| no record yet | `missing`: the run is unfinished |
| error or timeout | `imputed`: the metric's failure value, explained by the failure |
| error or timeout, and the metric counts no failures or has no failure value | `not_applicable` |
| an imported file has no row for the query | `failed`: the answer is unknown |
| the evaluator raised, returned no score, or returned an impossible value | `failed`, with the reason |
| otherwise | the evaluator's score |
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.core.errors import HarnessError, ModelUnavailable, RunInterrupted
from harness.core.records import NO_ROW, Reference, RunRecord, Score
from harness.evaluators.scores import make_score
from harness.protocols import Evaluator, Measure, RetrievalTrace, RunFacts, ScoringInput
from harness.store import Records, SampleRow
from harness.store.score_files import ScoreKey, score_key

NO_RECORD = "no record: the run is unfinished"
QUERY_FAILED = "the query failed"
NAMES_EVIDENCE = "the reference names its evidence"
"""Why a stand-in for evidence does not apply; a report needs no note about it."""
NO_GENERATOR = "the run has no generator"
NO_CONTEXTS = "the contexts are not recorded"
NO_REFERENCE = "the data set gives no reference answer"


@dataclass(frozen=True)
class Scorer:
    """An evaluator and the metrics it computes."""

    name: str
    measures: tuple[Measure, ...]
    evaluator: Evaluator


async def score_run(
    scorer: Scorer,
    rows: Sequence[SampleRow],
    records: Records,
    repeats: int = 1,
    facts: RunFacts | None = None,
    searched: RetrievalTrace | None = None,
) -> list[Score]:
    """One score for every (query, repeat, metric), sorted by them; records of other queries are ignored.

    A `HarnessError` (such as a full disk) or an interrupt ends the evaluation; any other exception, and an
    unreachable model, fails only the affected scores.
    """
    scores: dict[ScoreKey, Score] = {}
    cases: list[ScoringInput] = []
    for row, repeat in itertools.product(rows, range(repeats)):
        record = records.get((row.query.query_id, repeat))
        settled = _without_evaluator(scorer, row.reference, repeat, record, facts or RunFacts())
        scores.update((score_key(score), score) for score in settled)
        names = {score.measure for score in settled}
        left = tuple(measure for measure in scorer.measures if measure.name not in names)
        if record is not None and left:
            cases.append(ScoringInput(row.query, row.reference, record, left, searched))
    scores.update(await _evaluated(scorer, cases))
    return [scores[key] for key in sorted(scores)]


def _without_evaluator(
    scorer: Scorer, reference: Reference, repeat: int, record: RunRecord | None, facts: RunFacts
) -> list[Score]:
    """The scores of this query that do not need the evaluator."""
    if record and record.prediction and record.prediction.answer is None:
        facts = replace(facts, has_generator=False)
    if record and record.prediction and not record.prediction.has_contexts:
        facts = replace(facts, has_contexts=False, names_alone=record.prediction.names_alone)
    settled = []
    for measure in scorer.measures:
        reason = scorer.evaluator.not_applicable(reference, measure, facts)
        key = (reference.query_id, repeat, measure.name)
        if reason:
            settled.append(make_score(key, "not_applicable", reason))
        elif record is None:
            settled.append(make_score(key, "missing", NO_RECORD))
        elif record.prediction is None:
            failure = record.failure
            reason = f"{failure.kind}: {failure.message}" if failure else record.status
            if failure and failure.kind == NO_ROW and measure.failure_value is not None:
                settled.append(make_score(key, "failed", reason))
            elif measure.failure_value is None or not measure.counts_failures:
                settled.append(make_score(key, "not_applicable", QUERY_FAILED))
            else:
                imputed = measure.failure_value, measure.failure_label
                settled.append(make_score(key, "imputed", reason, *imputed))
    return settled


async def _evaluated(scorer: Scorer, cases: Sequence[ScoringInput]) -> dict[ScoreKey, Score]:
    """Every (case, measure), evaluated together if that works, otherwise case by case."""
    if not cases:
        return {}
    try:
        return await _checked(scorer, cases)
    except ModelUnavailable as error:
        return {key: make_score(key, "failed", str(error)) for key in _requested_scores(cases)}
    except (HarnessError, RunInterrupted):
        raise
    except Exception as error:
        if len(cases) == 1:
            reason = f"{type(error).__name__}: {error}"
            return {key: make_score(key, "failed", reason) for key in _requested_scores(cases)}
    scores: dict[ScoreKey, Score] = {}
    for case in cases:
        scores.update(await _evaluated(scorer, [case]))
    return scores


async def _checked(scorer: Scorer, cases: Sequence[ScoringInput]) -> dict[ScoreKey, Score]:
    """The evaluator's scores; raises ValueError if it broke its contract."""
    asked = _requested_scores(cases)
    found: dict[ScoreKey, Score] = {}
    for score in await scorer.evaluator.evaluate(cases):
        key = score_key(score)
        if key not in asked:
            raise ValueError(f"{scorer.name} scored {key}, which was not requested")
        if key in found:
            raise ValueError(f"{scorer.name} scored {key} twice")
        why = _why_impossible(asked[key], score)
        found[key] = make_score(key, "failed", why) if why else score
    return {key: found.get(key) or make_score(key, "failed", f"{scorer.name} returned no score") for key in asked}


def _why_impossible(measure: Measure, score: Score) -> str:
    """Why the metric cannot have this value or label; empty if it can."""
    if score.value is None:
        return ""
    if measure.binary and score.value not in {0, 1}:
        return f"the measure is binary, but its value is {score.value}"
    low, high = measure.range or (score.value, score.value)
    if not low <= score.value <= high:
        return f"the value {score.value:g} is not within {low:g} and {high:g}"
    names = {label.name for label in measure.labels} if score.value else {""}
    if (measure.labels or score.label) and score.label not in names:
        return f"the label '{score.label}' does not fit the value {score.value:g}"
    return ""


def _requested_scores(cases: Sequence[ScoringInput]) -> dict[ScoreKey, Measure]:
    return {
        (case.record.query_id, case.record.repeat, measure.name): measure
        for case in cases
        for measure in case.measures
    }
