"""Opens a system with its models in this process, for a worker or to ask a finished run new questions."""

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import psutil

from harness.core.current_process import Stopwatch
from harness.core.errors import ConfigError, HarnessError
from harness.core.records import Cost, Evidence, Failure, Prediction, Query, RunRecord, RunStatus
from harness.core.sanitize import cleaned
from harness.llm_utils.reasoning import with_reasoning_apart
from harness.models.budget import Budget, RolePrices
from harness.models.clients import AnyCallContext, OpenAIChat, build_chat
from harness.models.embedders import CachedEmbedder, build_embedder
from harness.models.embedding_cache import EmbeddingCache, embedder_cache_key
from harness.models.metering import LOADING, Meter, metered
from harness.models.model_proxy_server import ModelProxyServer
from harness.models.providers import provider_of
from harness.models.rate_limits import Limiters
from harness.models.transport import CallContext
from harness.models.weights import cache_dir
from harness.protocols import System, SystemSpec
from harness.registry import SYSTEMS
from harness.runner.costs import cost_of
from harness.runner.executing.messages import Job, QueryTask, SystemJob
from harness.runner.executing.query_time_limit import latency_limit
from harness.runner.executing.system_runtime import WorkerRuntime
from harness.store import Dialects, IndexDir, Journal, RunDir

Predicted = tuple[Prediction | None, Failure | None, RunStatus]


@dataclass(frozen=True)
class OpenedSystem:
    system: System
    call_context: AnyCallContext
    model_proxy: ModelProxyServer
    is_elsewhere: bool
    embedder_rss_bytes: int | None
    models: tuple[OpenAIChat | CachedEmbedder, ...] = ()

    async def load(self) -> None:
        """Load the system; its calls are metered apart from those of queries."""
        with metered(Meter(LOADING)):
            await self.system.load()

    async def disconnect(self) -> None:
        """Close the connections of its models. Needed if the process continues."""
        for model in self.models:
            await model.close()

    async def predict(
        self, query: Query, meter: Meter, limit_s: float, extended: Callable[[float], None] = lambda _left_s: None
    ) -> Predicted:
        """The answer within its time limit; errors of the system become a failure, HarnessError is raised."""
        predicted: Predicted
        with metered(meter):
            try:
                async with latency_limit(limit_s, meter, extended) as deadline:
                    prediction = await self.system.answer(query)
                if not isinstance(prediction, Prediction):
                    raise TypeError(f"the system returned {type(prediction).__name__}, not a Prediction")
                prediction = with_reasoning_apart(prediction, meter.reasoning)
                # A lone surrogate cannot be written to a file: this query fails, not the run.
                prediction.model_dump_json()
                predicted = prediction, None, "ok"
            except HarnessError:
                raise
            except (Exception, SystemExit) as error:
                if isinstance(error, TimeoutError) and deadline.expired():
                    predicted = None, Failure(kind="timeout", message=f"no answer within {limit_s:g} s"), "timeout"
                else:
                    traceback.print_exc()
                    predicted = None, Failure(kind=type(error).__name__, message=error_text(error)), "error"
        await self.model_proxy.end(meter)
        if self.call_context.fatal:
            raise self.call_context.fatal
        return predicted

    async def record(
        self,
        query: Query,
        task: QueryTask,
        limit_s: float,
        extended: Callable[[float], None] = lambda _left_s: None,
        *,
        is_alone: bool = True,
    ) -> RunRecord:
        """The record of the answer or failure of a query, which is not saved. Raises like `predict`.

        `is_alone`: no other query is answered meanwhile, so the CPU time of this process is that of the query.
        """
        # A repeated attempt has the same scope, so its calls are replayed from the journal.
        meter = Meter(f"answer/{task.query_id}/{task.repeat}/{task.attempt}")
        started_at, watch = datetime.now(UTC).isoformat(), Stopwatch()
        prediction, failure, status = await self.predict(query, meter, limit_s, extended)
        return RunRecord(
            query_id=task.query_id,
            repeat=task.repeat,
            status=status,
            prediction=prediction,
            failure=failure,
            cost=self.cost(meter, watch.wall_s, watch.cpu_s if is_alone else None),
            attempt=task.attempt,
            started_at=started_at,
        )

    def cost(self, meter: Meter, wall_s: float | None, cpu_s: float | None) -> Cost:
        cost = cost_of(meter, wall_s, cpu_s, self.embedder_rss_bytes)
        # For a remote system, this process would only measure its own few megabytes.
        unseen = {"cpu_s": None, "peak_rss_bytes": None}
        return cost.model_copy(update=unseen) if self.is_elsewhere else cost


def open_calls(
    job: Job,
    *,
    budget: Budget,
    say: Callable[[str], None],
    warn: Callable[[str], None],
    prices: RolePrices | None = None,
    limiters: Limiters | None = None,
) -> CallContext:
    """The state that all model calls of a job share, if this process makes them. Their journal is that of the run
    or, for an index, the one of all indexes. `prices`, `limiters`: if runs with other prices share the budget, and
    other jobs share the rate limits.
    """
    results, builds = Path(job.results), job.phase == "index"
    run = RunDir(results / job.run_id)
    path = IndexDir(results, job.system.index_id).journal_path if builds else run.journal_path
    return CallContext(
        Journal(path, payer=job.run_id, shared=builds, tell=warn),
        job.servers if builds else {},
        dialects=Dialects.under(results),
        begun_in=run.dialects(),
        noted=run.keep_dialect,
        budget=budget,
        prices=prices,
        limiters=limiters or Limiters(),
        say=say,
    )


@contextmanager
def open_system(
    job: Job,
    call_context: AnyCallContext,
    *,
    payer: str,
    warn: Callable[[str], None],
    progress: Callable[[int, int, str], None] = lambda _done, _total, _doing: None,
    gold: Mapping[str, Sequence[Evidence]] | None = None,
    has_answers: bool = False,
) -> Iterator[OpenedSystem]:
    """The system of a job, built but not loaded. It, its models and the journal are closed after the block.

    `payer`: the run id that cached vectors are charged to. `gold`: query id -> gold evidence, for a system whose
    spec says `sees_gold`. `has_answers`: whether the run has answers of an earlier process. ConfigError if the
    system has another version than the job says.
    """
    spec = _spec_of(job.system)
    with closing(call_context), _embedder(job, call_context, payer, progress) as (embedder, rss_bytes):
        chat = build_chat(job.generator, call_context, job.server) if job.generator else None
        model_proxy = ModelProxyServer(chat, embedder, call_context.stop, warn)
        runtime = WorkerRuntime(
            index_dir=IndexDir(Path(job.results), job.system.index_id).store,
            seed=job.seed,
            generator=chat,
            vectors=embedder,
            names_generator=job.generator is not None,
            retrieves_only=job.retrieves_only,
            has_answers=has_answers,
            model_proxy=model_proxy,
            say=warn,
            answer_style=job.answer_style,
            tell=progress,
        )
        with ExitStack() as opened:
            routed = {key: opened.enter_context(_built(one, job, runtime)) for key, one in job.routed.items()}
            own = replace(runtime, gold=gold or {}, routed_systems=routed)
            system = opened.enter_context(_built(job.system, job, own))
            models = tuple(one for one in (chat, embedder) if one is not None)
            yield OpenedSystem(system, call_context, model_proxy, spec.is_elsewhere, rss_bytes, models)


def _built(one: SystemJob, job: Job, runtime: WorkerRuntime) -> AbstractContextManager[System]:
    """The system of a job, or one to which it routes, with its own index."""
    spec = _spec_of(one)
    index_params = spec.index_params.model_validate(one.index_params)
    answer_params = spec.answer_params.model_validate(one.answer_params)
    own = replace(runtime, index_dir=IndexDir(Path(job.results), one.index_id).store)
    if job.phase == "answer":
        own.reranks_with, own.entails_by = spec.reranker(answer_params), spec.entailment(answer_params)
    return closing(spec.build(index_params, answer_params, own))


def _spec_of(one: SystemJob) -> SystemSpec:
    spec = SYSTEMS.load(one.name)
    check_version(spec, one.version)
    return spec


def check_version(spec: SystemSpec, version: str) -> None:
    """ConfigError if the run began with another version of its system."""
    if spec.version != version:
        what = f"'{spec.name}' has a different version than at the start of this run"
        raise ConfigError(what, "run the same command again, which makes a new run")


def error_text(error: BaseException) -> str:
    """The message of the error as one line, cut to a maximum length."""
    return " ".join(cleaned(str(error)).split())[:2000]


@contextmanager
def _embedder(
    job: Job, call_context: AnyCallContext, payer: str, progress: Callable[[int, int, str], None]
) -> Iterator[tuple[CachedEmbedder | None, int | None]]:
    """The embedder, if the phase calls one, and the memory it uses if it runs in this process."""
    config = job.embedder
    if config is None:
        yield None, None
        return
    # A fresh build has its own cache, so that it can resume after a kill.
    key = embedder_cache_key(config) + (f"/{job.run_id}" if job.is_fresh else "")
    with closing(EmbeddingCache(cache_dir() / "embeddings.sqlite", key, payer=payer)) as cache:
        before = psutil.Process().memory_info().rss
        made = build_embedder(config, call_context, cache, lambda done, total: progress(done, total, "embedding"))
        is_here = provider_of(config).encoder is not None
        yield made, max(0, psutil.Process().memory_info().rss - before) if is_here else None
