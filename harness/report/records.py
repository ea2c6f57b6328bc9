"""What a report keeps of records and samples in memory: of each record its status, the beginning of its answer and
its place in the file; counts of failures, retries and tokens; samples, which runs share."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from sys import intern

from harness.core.records import OWN_MODELS, REASONING, Prediction, RunRecord, Step
from harness.display import printable
from harness.evaluators.answer_normalisation import abstains
from harness.statistics.run_frame import Frame
from harness.store import CompressedByKey, RecordKey, Records, RunDir, SampleRow

# What became of a query, one bit each, since its repeats may differ.
ANSWERED, ABSTAINED, ERROR, TIMEOUT, MISSING = 1, 2, 4, 8, 16

Sample = CompressedByKey[str, SampleRow]
Attempts = CompressedByKey[RecordKey, RunRecord]
"""Those that count, by key; `all` of them, in the order written."""


def samples_of(runs: Sequence[RunDir]) -> list[Sample]:
    """Of each run; where two are the same, as nearly always, one object."""
    found: list[Sample] = []
    known: dict[str, Sample] = {}
    for run in runs:
        digest = run.sample_digest()
        own = known.get(digest or "") or run.sample_by_id()
        found.append(next((other for other in found if other is own or other.is_same(own)), own))
        known.update({digest: own} if digest else {})
    return found


class Briefs(CompressedByKey[RecordKey, str | None]):
    """Of each record that counts the beginning of its answer, what became of its query, and its place in the file.
    The methods decompress nothing, whereas each access to an answer decompresses a block if queries were asked in
    random order.
    """

    def __init__(self) -> None:
        super().__init__(str | None)
        self._places, self._statuses, self._have_answers = array("q"), array("B"), array("B")

    def add(self, key: RecordKey, record: RunRecord, place: int, *, counts: bool) -> None:
        answer = record.prediction.answer if record.prediction else None
        shortened = answer if answer is None or len(answer) <= 400 else f"{answer[:399]}…"
        self.put(key, shortened, counts=counts)
        self._places.append(place)
        self._statuses.append(_status(record))
        self._have_answers.append(answer is not None)

    def place(self, key: RecordKey) -> int:
        """What `RunDir.records_at` finds it by."""
        return self._places[self.numbers[key]]

    def status(self, key: RecordKey) -> int:
        """`MISSING` without a record."""
        number = self.numbers.get(key)
        return MISSING if number is None else self._statuses[number]

    def has_answer(self, key: RecordKey) -> bool:
        """Whether there is a text, however short."""
        number = self.numbers.get(key)
        return number is not None and bool(self._have_answers[number])

    def is_answered(self, key: RecordKey) -> bool:
        """Whether there is a prediction, with a text or without."""
        return self.status(key) in {ANSWERED, ABSTAINED}


def read_briefly(run: RunDir) -> tuple[Attempts, Briefs]:
    """Every attempt without its texts: they are nearly all of a record, and only the explorer reads them again."""
    attempts: Attempts = CompressedByKey(RunRecord)
    briefs = Briefs()
    latest: dict[RecordKey, int] = {}
    for place, record in run.iter_placed_records():
        key = intern(record.query_id), record.repeat
        counts = record.attempt > latest.get(key, -1)
        if counts:
            latest[key] = record.attempt
        kept = _without_texts(record.prediction)
        attempts.put(key, record.model_copy(update={"prediction": kept}), counts=counts)
        briefs.add(key, record, place, counts=counts)
    return attempts, briefs


def _without_texts(prediction: Prediction | None) -> Prediction | None:
    """A note counts the answers from which reasoning was removed, so that step is kept."""
    if prediction is None:
        return None
    steps = [Step(name=REASONING, content="") for step in prediction.trace if step.name == REASONING]
    return Prediction(answer=None, trace=tuple(steps[:1]))


def _status(record: RunRecord) -> int:
    if record.prediction is None:
        return TIMEOUT if record.status == "timeout" else ERROR
    return ABSTAINED if record.prediction.answer and abstains(record.prediction.answer) else ANSWERED


@dataclass
class RecordCounts:
    """Of the records that count."""

    n: int = 0
    n_asked: int = 0
    """(query, repeat) pairs of the frame that have one."""
    n_asked_failed: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    first_failure: str = ""
    n_retried: int = 0
    n_timeouts: int = 0
    n_replayed: int = 0
    """Answered, with calls from an earlier attempt."""
    n_cached: int = 0
    """Answered without one, with vectors that were there."""
    n_unsplit: int = 0
    """Timed answers for which waiting for a provider's limit is not known separately."""
    n_unmetered: int = 0
    any_token: bool = False
    """Of a model of the harness."""
    n_own: int = 0
    any_own_token: bool = False
    n_cut: int = 0
    n_cut_prompts: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    n_reasoned: int = 0
    roles: set[str] = field(default_factory=set)

    @property
    def why_failed(self) -> str:
        kinds = self.failures.most_common(4)
        shown = ", ".join(f"{printable(kind)} {count:,}" for kind, count in kinds)
        return f"{shown}; the first: {printable(self.first_failure, 160) or 'no message'}" if shown else ""

    @classmethod
    def of(cls, records: Records, frame: Frame) -> RecordCounts:
        """Of these, those of queries and repeats outside the frame included."""
        counts = cls()
        for (query_id, repeat), record in records.items():
            counts._add(record, is_asked=query_id in frame.query_types and 0 <= repeat < frame.repeats)
        return counts

    def _add(self, record: RunRecord, *, is_asked: bool) -> None:
        if is_asked:
            self.n_asked += 1
            self.n_asked_failed += record.status != "ok"
        if is_asked and record.failure:
            self.first_failure = self.first_failure if self.failures else record.failure.message
            self.failures[record.failure.kind] += 1
        cost, trace = record.cost, record.prediction.trace if record.prediction else ()
        self.n += 1
        self.n_retried += record.attempt > 1
        self.n_timeouts += record.status == "timeout"
        self.n_reasoned += any(step.name == REASONING for step in trace)
        if record.status == "ok":
            self.n_replayed += cost.replayed_calls > 0
            self.n_cached += cost.cached_texts > 0 and not cost.replayed_calls
        self.n_unsplit += cost.wall_s is not None and cost.throttled_s is None
        self.roles |= cost.called_roles
        own = cost.usage.get(OWN_MODELS)
        self.n_own += own is not None
        self.any_own_token |= own is not None and own.has_tokens
        metered = [usage for role, usage in cost.usage.items() if role != OWN_MODELS]
        self.n_unmetered += any(usage.unmetered_calls for usage in metered)
        self.any_token |= any(usage.has_tokens for usage in metered)
        self.n_cut += any(usage.cut_calls for usage in cost.usage.values())
        self.n_cut_prompts += any(usage.cut_prompts for usage in cost.usage.values())
        self.output_tokens += sum(usage.output_tokens for usage in cost.usage.values())
        self.reasoning_tokens += sum(usage.reasoning_tokens for usage in cost.usage.values())
