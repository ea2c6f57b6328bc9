"""From records to scores: exactly one for every (query, repeat, measure), so that no failure leaves a denominator.

| the record | the score |
|--|--|
| the measure does not apply to this query | `not_applicable`, with the evaluator's reason |
| there is none yet | `missing`: the run is unfinished |
| it ended in an error or a timeout | `imputed`: the measure's failure value, explained by the failure |
| likewise, and the measure only describes | `not_applicable`, with the failure |
| the evaluator raised, left the score out, or gave a value that cannot be | `failed`, with the reason |
| otherwise | what the evaluator says |
"""

import itertools
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from harness.errors import HarnessError, ModelUnavailable, RunInterrupted
from harness.evaluators.scores import make_score
from harness.evaluators.searched import KeptSearch
from harness.protocols import Case, Evaluator, Measure, RunFacts, Searched
from harness.records import Reference, RunRecord, Score, ScoreStatus
from harness.store import RecordKey, Records, RunDir, SampleRow

PART = 2_048
"""Answers that are in memory at once, with their contexts."""
NO_RECORD = "no record: the run is unfinished"
NO_GENERATOR = "the run has no generator"
NO_CONTEXTS = "the run records no contexts"
NO_REFERENCE = "the data set gives no reference answer"

ScoreKey = tuple[str, int, str]


@dataclass(frozen=True)
class Scorer:
    """An evaluator that was built, and what it measures with its parameters."""

    name: str
    measures: tuple[Measure, ...]
    evaluator: Evaluator


async def score_run_dir(
    run: RunDir, scorer: Scorer, begin_part: Callable[[int, int], None] = lambda _number, _of: None
) -> AsyncIterator[list[Score]]:
    """Score a run, finished or not; the same records give the same scores.

    Answers with their contexts take more memory than anything else: those of a large run are read and scored in
    parts, in the order of their queries' ids, so that all parts together are sorted as one is (`score_run`).
    `begin_part` is told which part of how many begins.
    """
    manifest, rows = run.manifest(), run.sample()
    repeats, searched = int(manifest.identity.get("repeats", 1)), KeptSearch(run)
    if len(rows) * repeats <= PART:
        records = run.records()
        facts = _facts(manifest.has_generator, map(_Outline.of, records.values()))
        yield await score_run(scorer, rows, records, repeats, facts, searched)
        return
    outlines = _outlines(run)
    facts = _facts(manifest.has_generator, outlines.values())
    parts = list(_parts(rows, max(1, PART // repeats)))
    for number, part in enumerate(parts, start=1):
        begin_part(number, len(parts))
        asked = [row.query.query_id for row in part]
        there = [key for key in itertools.product(asked, range(repeats)) if key in outlines]
        found = run.records_at([outlines[key].place for key in there])
        yield await score_run(scorer, part, dict(zip(there, found, strict=True)), repeats, facts, searched)


async def score_run(
    scorer: Scorer,
    rows: Sequence[SampleRow],
    records: Records,
    repeats: int = 1,
    facts: RunFacts | None = None,
    searched: Searched | None = None,
) -> list[Score]:
    """One score for every (query, repeat, measure), sorted by them; the table above says which.

    `rows` are the sampled queries, repeats count from 0; a record of anything else is passed over. A
    `HarnessError` (say, a full disk) or an interrupt ends the evaluation; any other exception, and a model that
    cannot be reached, fails only the scores it concerns.
    """
    scores: dict[ScoreKey, Score] = {}
    cases: list[Case] = []
    for row, repeat in itertools.product(rows, range(repeats)):
        record = records.get((row.query.query_id, repeat))
        settled = _settled(scorer, row.reference, repeat, record, facts or RunFacts())
        scores.update((_key(score), score) for score in settled)
        names = {score.measure for score in settled}
        left = tuple(measure for measure in scorer.measures if measure.name not in names)
        if record is not None and left:
            cases.append(Case(row.query, row.reference, record, left, searched))
    scores.update(await _evaluated(scorer, cases))
    return [scores[key] for key in sorted(scores)]


class _Outline(NamedTuple):
    """Of a record: where it stands, and what it names at all."""

    attempt: int
    place: int
    is_answered: bool
    has_contexts: bool
    has_evidence: bool

    @classmethod
    def of(cls, record: RunRecord, place: int = 0) -> Self:
        said = record.prediction
        named = (bool(said.contexts), bool(said.evidence)) if said else (False, False)
        return cls(record.attempt, place, said is not None, *named)


def _outlines(run: RunDir) -> dict[RecordKey, _Outline]:
    """Of the records that count."""
    outlines: dict[RecordKey, _Outline] = {}
    for place, record in run.iter_placed_records():
        key = record.query_id, record.repeat
        if key not in outlines or record.attempt > outlines[key].attempt:
            outlines[key] = _Outline.of(record, place)
    return outlines


def _parts(rows: Sequence[SampleRow], size: int) -> Iterator[list[SampleRow]]:
    ordered = sorted(rows, key=lambda row: row.query.query_id)
    return (ordered[start : start + size] for start in range(0, len(ordered), size))


def _facts(has_generator: bool, outlines: Iterable[_Outline]) -> RunFacts:
    """What the answers name at all; a run without any answer is given the benefit of the doubt."""
    answered = [outline for outline in outlines if outline.is_answered]
    return RunFacts(
        has_generator=has_generator,
        has_contexts=not answered or any(outline.has_contexts for outline in answered),
        has_evidence=not answered or any(outline.has_evidence for outline in answered),
    )


def _settled(
    scorer: Scorer, reference: Reference, repeat: int, record: RunRecord | None, facts: RunFacts
) -> list[Score]:
    """The scores of this query that need no evaluator."""
    if record and record.prediction and record.prediction.answer is None:
        facts = replace(facts, has_generator=False)
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
            status: ScoreStatus = "not_applicable" if measure.failure_value is None else "imputed"
            label = measure.failure_label if status == "imputed" else ""
            settled.append(make_score(key, status, reason, measure.failure_value, label))
    return settled


async def _evaluated(scorer: Scorer, cases: Sequence[Case]) -> dict[ScoreKey, Score]:
    """Every (case, measure), evaluated together if that works, otherwise case by case."""
    if not cases:
        return {}
    try:
        return await _checked(scorer, cases)
    except ModelUnavailable as error:
        return {key: make_score(key, "failed", str(error)) for key in _asked(cases)}
    except (HarnessError, RunInterrupted):
        raise
    except Exception as error:
        if len(cases) == 1:
            reason = f"{type(error).__name__}: {error}"
            return {key: make_score(key, "failed", reason) for key in _asked(cases)}
    scores: dict[ScoreKey, Score] = {}
    for case in cases:
        scores.update(await _evaluated(scorer, [case]))
    return scores


async def _checked(scorer: Scorer, cases: Sequence[Case]) -> dict[ScoreKey, Score]:
    """What the evaluator returned; ValueError where it broke its contract."""
    asked = _asked(cases)
    found: dict[ScoreKey, Score] = {}
    for score in await scorer.evaluator.evaluate(cases):
        key = _key(score)
        if key not in asked:
            raise ValueError(f"{scorer.name} scored {key}, which it was not asked for")
        if key in found:
            raise ValueError(f"{scorer.name} scored {key} twice")
        found[key] = _possible(asked[key], score)
    return {key: found.get(key) or make_score(key, "failed", f"{scorer.name} gave no score") for key in asked}


def _possible(measure: Measure, score: Score) -> Score:
    """The score, or a failed one where its value is none that the measure can have."""
    if score.value is None:
        return score
    if measure.binary and score.value not in {0, 1}:
        return make_score(_key(score), "failed", f"the measure is binary, but its value is {score.value}")
    if measure.range and not measure.range[0] <= score.value <= measure.range[1]:
        low, high = measure.range
        return make_score(_key(score), "failed", f"the value {score.value:g} is not within {low:g} and {high:g}")
    names = {label.name for label in measure.labels} if score.value else {""}
    if (measure.labels or score.label) and score.label not in names:
        return make_score(
            _key(score), "failed", f"the label '{score.label}' does not fit the value {score.value:g}"
        )
    return score


def _asked(cases: Sequence[Case]) -> dict[ScoreKey, Measure]:
    return {
        (case.record.query_id, case.record.repeat, measure.name): measure
        for case in cases
        for measure in case.measures
    }


def _key(score: Score) -> ScoreKey:
    return score.query_id, score.repeat, score.measure
