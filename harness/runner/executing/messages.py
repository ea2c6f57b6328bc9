"""Messages between the runner and its workers, one JSON line each, and how a worker sends and receives them."""

import asyncio
from abc import ABC, abstractmethod
from queue import SimpleQueue
from typing import BinaryIO, Literal

from pydantic import BaseModel, ConfigDict

from harness.config import EmbedderConfig, GeneratorConfig, JudgeConfig, JudgeEmbedderConfig, LimitsConfig
from harness.core.records import AnswerStyle, Cost, IndexStats, Phase, RunRecord, RunStatus, Score, Usage
from harness.models.budget import Allowance, Amount
from harness.models.llama_server import ServerAccess
from harness.models.remote_calls import CallUpdate, RemoteCall, RemoteCallClient
from harness.protocols import Route
from harness.statistics.prices import Price


class WorkerMessage(BaseModel):
    """Base class of messages in both directions."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class QueryTask(WorkerMessage):
    """One query to answer."""

    query_id: str
    repeat: int
    attempt: int


class RoutedJob(WorkerMessage):
    """A system to which the system of the job routes queries."""

    route: Route
    system_version: str
    """The version of its spec when the run was planned."""
    index_id: str
    index_params: dict[str, object]
    answer_params: dict[str, object]


class WorkerJob(WorkerMessage):
    """The first message to a worker, on its standard input."""

    results: str
    limits: LimitsConfig
    allowance: Allowance = Allowance()
    """What is left of the budget."""
    todo: tuple[QueryTask, ...] = ()
    key_names: tuple[str, ...] = ()
    """Environment variables with API keys, which are removed from logs: see `harness.core.sanitize.keep_secret`.
    """
    stays: bool = False
    """After `todo`, the worker waits for turns, one line each, until an empty one."""


class ScoringJob(WorkerJob):
    """Score answers with one evaluator on another machine. The worker reads runs, relays its model calls and sends
    scores. `todo` names queries; all their repeats are scored.
    """

    of_run: str
    """The run directory with the answers to score."""
    evaluator: str
    version: str
    """The version of its spec when the evaluation was planned."""
    params: dict[str, object]
    judge: JudgeConfig
    embedder: JudgeEmbedderConfig
    concurrency: int
    """The number of judgements to run in parallel."""


class ExtractionJob(WorkerJob):
    """Extract triplets by rules, for an index that a worker on another machine builds."""

    texts: str
    """A `TextsToRead`, as JSON."""


class Job(WorkerJob):
    """One phase of a run."""

    phase: Phase
    run_id: str
    index_id: str
    corpus_digest: str
    system: str
    system_version: str
    """The version of its spec when the run was planned."""
    retrieves_only: bool = False
    """The run has no generator."""
    generator: GeneratorConfig | None
    """None: this phase calls no generator."""
    embedder: EmbedderConfig | None
    """None: this phase calls no embedder."""
    answer_style: AnswerStyle
    server: ServerAccess | None
    """The server that was started for the generator, if any."""
    index_params: dict[str, object]
    answer_params: dict[str, object]
    seed: int
    servers: dict[str, str] = {}
    """Role -> digest of its model and server. It separates calls in the journal that all indexes share."""
    prices: dict[str, Price] = {}
    """Role -> price, if dollars are limited."""
    is_fresh: bool = False
    """The index is built only with calls and vectors that this run itself paid for."""
    routed: tuple[RoutedJob, ...] = ()
    """When answering: the systems to which it routes queries."""
    n_readers: int = 0
    """When indexing: maximum number of workers that extract triplets for it
    (`harness.extraction.remote_extraction`).
    """
    is_relayed: bool = False
    """The worker is on another machine. It relays its model calls and sends its records. It reads `results`, and
    writes only into the store of an index there."""


AnyJob = Job | ScoringJob | ExtractionJob


class Turn(WorkerMessage):
    """The next work for a worker that stays. If it is empty, the worker ends."""

    of_run: str | None = None
    """When scoring: the run directory with the answers to score."""
    todo: tuple[QueryTask, ...] = ()
    texts: str | None = None
    """When extracting: the next `TextsToRead`, as JSON."""
    allowance: Allowance = Allowance()
    """What is left of the budget now; other workers may have spent some since the last turn."""


class ToWorker(WorkerMessage):
    """A message to a worker after its job, with one of the two fields set."""

    turn: Turn | None = None
    news: CallUpdate | None = None
    """The state or reply of a call that it relayed."""


class Event(WorkerMessage):
    """A message from a worker. The texts below say for which kinds a field is set."""

    kind: Literal[
        "progress",
        "said",
        "warned",
        "started",
        "extended",
        "finished",
        "indexed",
        "scored",
        "read",
        "waiting",
        "completed",
        "refused",
        "stopped",
        "broken",
        "asks",
    ]
    todo: QueryTask | None = None
    """started, extended, finished."""
    left_s: float = 0.0
    """extended: the time limit was paused; at least so many seconds are left."""
    status: RunStatus | None = None
    """finished."""
    record: RunRecord | None = None
    """finished, for a relayed worker: the record to save."""
    call: RemoteCall | None = None
    """asks."""
    usage: dict[str, Usage] = {}
    """finished: of the query; progress: of the index so far; scored: what was paid."""
    spent: Amount = Amount()
    """finished, progress: spent of the allowance so far."""
    needed: Amount = Amount()
    """stopped: the upper bound of the call that did not fit the budget."""
    done: int = 0
    total: int = 0
    doing: str = ""
    """progress: `done` of `total` units of `doing`."""
    stats: IndexStats | None = None
    cost: Cost | None = None
    """indexed; scored."""
    scores: tuple[Score, ...] = ()
    """scored: those of one turn, sorted."""
    found: str = ""
    """read: a `TextsRead`, as JSON."""
    what: str = ""
    fix: str = ""
    """said (a line of output), warned (a line that is shown even if quiet), refused (an error that the user can
    fix), stopped (by the budget), broken (a bug of the system)."""


class JobWorker(ABC):
    """What workers of all kinds share: they send events, wait for turns, and relay model calls to the runner."""

    def __init__(self, events: BinaryIO, turns: "SimpleQueue[Turn]") -> None:
        self._events, self._turns = events, turns
        self.relay = RemoteCallClient(lambda call: self.tell(Event(kind="asks", call=call)))
        """Receives the replies to model calls that the runner makes for this worker."""

    @abstractmethod
    async def work(self) -> None:
        """Do the job; every outcome is reported as an event."""
        ...

    def tell(self, event: Event) -> None:
        """Send an event to the runner."""
        self._events.write(event.model_dump_json().encode() + b"\n")
        self._events.flush()

    async def _next_turn(self) -> Turn:
        self.tell(Event(kind="waiting"))
        return await asyncio.to_thread(self._turns.get)
