"""What the runner tells a worker, and what a worker tells the runner: one JSON line each."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from harness.config import EmbedderConfig, GeneratorConfig, JudgeConfig, JudgeEmbedderConfig, LimitsConfig
from harness.core.records import AnswerStyle, Cost, IndexStats, Phase, RunRecord, RunStatus, Score, Usage
from harness.models.budget import Allowance, Amount
from harness.models.llama_server import ServerAccess
from harness.models.remote_calls import CallUpdate, RemoteCall
from harness.protocols import Route
from harness.statistics.prices import Price


class WorkerMessage(BaseModel):
    """Base of both directions."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class QueryTask(WorkerMessage):
    """One query to answer."""

    query_id: str
    repeat: int
    attempt: int


class RoutedJob(WorkerMessage):
    """A system that the job's own hands queries to."""

    route: Route
    system_version: str
    """Of its spec, when the run was planned."""
    index_id: str
    index_params: dict[str, object]
    answer_params: dict[str, object]


class WorkerJob(WorkerMessage):
    """What every worker is told first, in a line of standard input."""

    results: str
    limits: LimitsConfig
    allowance: Allowance = Allowance()
    """What is left of the budget."""
    todo: tuple[QueryTask, ...] = ()
    key_names: tuple[str, ...] = ()
    """Variables of the environment that hold the keys of all roles: see `harness.core.sanitize.keep_secret`."""
    stays: bool = False
    """When `todo` is done, it waits for turns, a line each, until one is empty."""


class ScoringJob(WorkerJob):
    """Score answers with one evaluator, on another machine: it reads runs, asks for its model calls and sends its
    scores. `todo` names queries, all of whose repeats are scored.
    """

    of_run: str
    """The run directory whose answers `todo` names."""
    evaluator: str
    version: str
    """Of its spec, when the evaluation was planned."""
    params: dict[str, object]
    judge: JudgeConfig
    embedder: JudgeEmbedderConfig
    concurrency: int
    """Judgements worth having under way at once."""


class ReadingJob(WorkerJob):
    """Read texts by rules for an index that a worker on another machine builds."""

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
    """Of its spec, when the run was planned."""
    retrieves_only: bool = False
    """The run has no generator."""
    generator: GeneratorConfig | None
    """None: this phase calls none."""
    embedder: EmbedderConfig | None
    """Likewise."""
    answer_style: AnswerStyle
    server: ServerAccess | None
    """The generator's, where one was started for it."""
    index_params: dict[str, object]
    answer_params: dict[str, object]
    seed: int
    servers: dict[str, str] = {}
    """Role -> digest of what serves it: keeps calls apart in the journal that indexes share."""
    prices: dict[str, Price] = {}
    """Role -> price, where dollars are limited."""
    is_fresh: bool = False
    """An index is built with nothing but what this run itself has paid for it."""
    lent: tuple[RoutedJob, ...] = ()
    """Answering: the systems that it hands queries to."""
    n_readers: int = 0
    """Building: so many workers at most may read texts for it (`harness.extraction.remote_extraction`)."""
    is_relayed: bool = False
    """The worker is on another machine: it asks for model calls instead of making them, and sends its records. It
    reads what lies in `results`, and writes there only into the store of an index."""


AnyJob = Job | ScoringJob | ReadingJob


class Turn(WorkerMessage):
    """What a worker that stays does next; empty: nothing more, it ends."""

    of_run: str | None = None
    """Scoring: the run directory whose answers `todo` names."""
    todo: tuple[QueryTask, ...] = ()
    texts: str | None = None
    """Reading: the next `TextsToRead`, as JSON."""
    allowance: Allowance = Allowance()
    """What is left of the budget now, after the turns of others."""


class ToWorker(WorkerMessage):
    """What a worker reads after its job, a line each: one of the two."""

    turn: Turn | None = None
    news: CallUpdate | None = None
    """Of a call that it asked for."""


class Event(WorkerMessage):
    """Something that happened in a worker."""

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
    """extended: seconds until the query is overdue, at least; its clock stood for a while."""
    status: RunStatus | None = None
    """finished."""
    record: RunRecord | None = None
    """finished, of a relayed worker: what is to be kept."""
    call: RemoteCall | None = None
    """asks."""
    usage: dict[str, Usage] = {}
    """finished: the query's; progress: the index's so far; scored: what was paid."""
    spent: Amount = Amount()
    """finished, progress: of the allowance, so far."""
    needed: Amount = Amount()
    """stopped: what the call that did not fit may take."""
    done: int = 0
    total: int = 0
    doing: str = ""
    """progress: so many of all, of what."""
    stats: IndexStats | None = None
    cost: Cost | None = None
    """indexed; scored."""
    scores: tuple[Score, ...] = ()
    """scored: of one turn, sorted."""
    found: str = ""
    """read: a `TextsRead`, as JSON."""
    what: str = ""
    fix: str = ""
    """said (one line for who waits), warned (for who asked to be quiet, too), refused (the user can fix it),
    stopped (at the budget), broken (a bug of the system)."""
