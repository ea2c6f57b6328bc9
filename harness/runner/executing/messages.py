"""Messages between the runner and its workers, one JSON line each, and how a worker sends and receives them."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from queue import SimpleQueue
from typing import Annotated, BinaryIO, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from harness.config import EmbedderConfig, GeneratorConfig, JudgeConfig, JudgeEmbedderConfig, LimitsConfig
from harness.core.records import AnswerStyle, Cost, IndexStats, Phase, RunRecord, RunStatus, Score, Usage
from harness.models.budget import Allowance, Amount
from harness.models.llama_server import ServerAccess
from harness.models.remote_calls import CallUpdate, RemoteCall, RemoteCallClient
from harness.statistics.prices import Price


class WorkerMessage(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class QueryTask(WorkerMessage):
    query_id: str
    repeat: int
    attempt: int


class SystemJob(WorkerMessage):
    name: str
    version: str
    """The version of its spec when the run was planned."""
    index_id: str
    index_params: dict[str, object]
    answer_params: dict[str, object]


class WorkerJob(WorkerMessage):
    """The first message to a worker, on its standard input. Then turns follow, until `NoMoreTurns`."""

    results: str
    limits: LimitsConfig
    allowance: Allowance = Allowance()
    key_names: tuple[str, ...] = ()
    """Environment variables with API keys, which are removed from logs: see `harness.core.sanitize.keep_secret`.
    """


class ScoringJob(WorkerJob):
    """Score answers with one evaluator on another machine. The worker reads runs, relays its model calls and sends
    scores.
    """

    evaluator: str
    version: str
    params: dict[str, object]
    judge: JudgeConfig
    embedder: JudgeEmbedderConfig
    concurrency: int
    """Number of judgements to run in parallel."""


class ExtractionJob(WorkerJob):
    """Extract triplets by rules, for an index that a worker on another machine builds."""


class Job(WorkerJob):
    phase: Phase
    run_id: str
    system: SystemJob
    routed: dict[str, SystemJob] = {}
    """Route key -> a system to which it routes queries."""
    corpus_digest: str
    retrieves_only: bool = False
    generator: GeneratorConfig | None
    """None: this phase calls no generator."""
    embedder: EmbedderConfig | None
    """None: this phase calls no embedder."""
    answer_style: AnswerStyle
    server: ServerAccess | None
    """The server that was started for the generator, if any."""
    seed: int
    servers: dict[str, str] = {}
    """Role -> digest of its model and server. It separates calls in the journal that all indexes share."""
    prices: dict[str, Price] = {}
    """Role -> price, if dollars are limited."""
    is_fresh: bool = False
    """The index is built only with calls and vectors that this run itself paid for."""
    n_readers: int = 0
    """When indexing: maximum number of workers that extract triplets for it
    (`harness.extraction.remote_extraction`).
    """
    is_relayed: bool = False
    """The worker is on another machine. It relays its model calls and sends its records. It reads `results`, and
    writes only into the store of an index there."""


AnyJob = Job | ScoringJob | ExtractionJob


class IndexTurn(WorkerMessage):
    """Build the index, close the system."""

    kind: Literal["index"] = "index"


class AnswerTurn(WorkerMessage):
    kind: Literal["answer"] = "answer"
    todo: tuple[QueryTask, ...]
    allowance: Allowance | None = None
    """What is left of the budget now, if other workers may have spent some since the last turn."""


class ScoringTurn(WorkerMessage):
    kind: Literal["score"] = "score"
    of_run: str
    """The run directory with the answers to score."""
    todo: tuple[QueryTask, ...]
    """Queries, of which all repeats are scored."""


class ExtractionTurn(WorkerMessage):
    kind: Literal["extract"] = "extract"
    texts: str
    """A `TextsToRead`, as JSON."""


class NoMoreTurns(WorkerMessage):
    """The worker closes its system and exits."""

    kind: Literal["no_more_turns"] = "no_more_turns"


class CallUpdated(WorkerMessage):
    """The state or reply of a call that the worker requested."""

    kind: Literal["call_updated"] = "call_updated"
    update: CallUpdate


Turn = IndexTurn | AnswerTurn | ScoringTurn | ExtractionTurn
T = TypeVar("T", bound=Turn)
ToWorker = Annotated[Turn | NoMoreTurns | CallUpdated, Field(discriminator="kind")]


class Progress(WorkerMessage):
    kind: Literal["progress"] = "progress"
    done: int
    total: int
    doing: str
    """The units that are counted."""
    usage: dict[str, Usage]
    spent: Amount
    """Spent of the allowance so far."""


class OutputLine(WorkerMessage):
    kind: Literal["output"] = "output"
    line: str
    is_warning: bool = False
    """It is shown even if output is quiet."""


class QueryStarted(WorkerMessage):
    kind: Literal["query_started"] = "query_started"
    todo: QueryTask
    left_s: float
    """At least so many seconds are left of its time limit. Sent again if that was paused."""


class QueryFinished(WorkerMessage):
    kind: Literal["query_finished"] = "query_finished"
    todo: QueryTask
    status: RunStatus
    usage: dict[str, Usage]
    spent: Amount = Amount()
    """Spent of the allowance so far. A relayed worker has no allowance of its own."""
    record: RunRecord | None = None
    """The record to save. None: the worker has saved it."""


class IndexBuilt(WorkerMessage):
    kind: Literal["index_built"] = "index_built"
    stats: IndexStats
    cost: Cost


class AnswersScored(WorkerMessage):
    kind: Literal["answers_scored"] = "answers_scored"
    scores: tuple[Score, ...]
    cost: Cost
    paid: dict[str, Usage]


class TextsExtracted(WorkerMessage):
    kind: Literal["texts_extracted"] = "texts_extracted"
    found: str
    """A `TextsRead`, as JSON."""


class CallRequested(WorkerMessage):
    kind: Literal["call_requested"] = "call_requested"
    call: RemoteCall


class WaitingForTurn(WorkerMessage):
    """A turn is finished; the worker waits for the next one."""

    kind: Literal["waiting_for_turn"] = "waiting_for_turn"


class WorkerFailed(WorkerMessage):
    """The worker exits."""

    kind: Literal["worker_failed"] = "worker_failed"
    why: Literal["budget", "user", "system"]
    """The next call did not fit the budget, or an error that the user can fix, or a bug of the system."""
    what: str
    fix: str = ""
    needed: Amount = Amount()
    """The upper bound of the call that did not fit."""


Event = Annotated[
    Progress
    | OutputLine
    | QueryStarted
    | QueryFinished
    | IndexBuilt
    | AnswersScored
    | TextsExtracted
    | CallRequested
    | WaitingForTurn
    | WorkerFailed,
    Field(discriminator="kind"),
]

_EVENT: TypeAdapter[Event] = TypeAdapter(Event)
_TO_WORKER: TypeAdapter[ToWorker] = TypeAdapter(ToWorker)

LONGEST_EVENT = 1 << 28
"""Bytes; a worker that sends a longer line is broken."""


def read_event(line: bytes | bytearray) -> Event:
    """The event of a line from a worker. ValueError if it is none."""
    return _EVENT.validate_json(line)


def read_message_to_worker(line: bytes) -> ToWorker:
    return _TO_WORKER.validate_json(line)


class JobWorker(ABC):
    """What workers of all kinds share: they send events, wait for turns, and have the runner make model calls."""

    def __init__(self, events: BinaryIO) -> None:
        self._events = events
        self._turns: SimpleQueue[Turn | NoMoreTurns] = SimpleQueue()
        self.remote_calls = RemoteCallClient(lambda call: self.send(CallRequested(call=call)))
        """The model calls that the runner makes for this worker."""

    @abstractmethod
    async def work(self) -> None:
        """Do one turn after another; every outcome is reported as an event."""
        ...

    def send(self, event: Event) -> None:
        self._events.write(event.model_dump_json().encode() + b"\n")
        self._events.flush()

    def handle(self, message: ToWorker) -> None:
        """Handle a message of the runner; may be called from another thread than `work`."""
        if isinstance(message, CallUpdated):
            self.remote_calls.handle(message.update)
        else:
            self._turns.put(message)

    async def turns(self, kind: type[T]) -> AsyncIterator[T]:
        """Each turn of the job, as it comes, until there are no more."""
        while isinstance(turn := await asyncio.to_thread(self._turns.get), kind):
            yield turn
            self.send(WaitingForTurn())
