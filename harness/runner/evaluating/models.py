"""The models of an evaluation: opened when first needed, closed with the evaluation.

One journal (`results/judge/calls.sqlite`) holds the calls of all evaluations. So a judgement of the same text by
the same model is paid once across runs, and a killed evaluation resumes without paying again.
"""

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.config import EmbedderConfig, GeneratorConfig, JudgeConfig, ModelConfig
from harness.core.errors import ModelUnavailable
from harness.models.budget import Budget
from harness.models.clients import AnyCallContext, OpenAIChat, build_chat
from harness.models.embedders import CachedEmbedder, EmbedProgress, build_embedder
from harness.models.embedding_cache import EmbeddingCache, embedder_cache_key
from harness.models.llama_server import ServerAccess, ready_by
from harness.models.metering import Meter, metered_apart
from harness.models.model_endpoint import model_identity, server_digests
from harness.models.providers import provider_of
from harness.models.remote_call_server import RemoteCallServer
from harness.models.transport import CallContext
from harness.models.weights import cache_dir
from harness.protocols import ChatModel, Embedder
from harness.runner.evaluating.plan import EvaluationPlan
from harness.runner.model_preflight import fetch_weights
from harness.runner.progress import Reporter
from harness.store import Dialect, Dialects, Journal

SCOPE = "judge"
"""The scope of all judgements in the journal. It is the same for all runs, so that a text is judged only once."""


class OpenedModels:
    """The judge and the embedder of a worker whose calls another process makes. `stack` closes them."""

    def __init__(
        self,
        judge: JudgeConfig,
        embedder: EmbedderConfig,
        stack: ExitStack,
        concurrency: int,
        call_context: Callable[[], AnyCallContext],
    ) -> None:
        """`concurrency`: the number of judgements to run in parallel. `call_context` is called for each model: if
        one server is down, calls to the other continue.
        """
        self._judge_config, self._embedder_config, self._stack = judge, embedder, stack
        self.concurrency, self._call_context = concurrency, call_context
        self._payer = ""
        self._connected: list[OpenAIChat | CachedEmbedder] = []

    def check_time(self) -> None:
        """BudgetExhausted if the time is over. Of a remote worker, another process checks that."""

    def _fetch(self, config: ModelConfig) -> None:
        """Download the weights, if any, with a progress bar. Loading them later would show none."""

    def _server(self, config: GeneratorConfig) -> ServerAccess | None:  # noqa: ARG002 - started elsewhere
        return None

    async def disconnect(self) -> None:
        """Close the connections to servers. To be called in the event loop that used them."""
        for model in self._connected:
            await model.close()

    def _opened_chat(self, config: GeneratorConfig) -> ChatModel:
        self._fetch(config)
        chat = build_chat(config, self._call_context(), self._server(config))
        assert chat is not None  # noqa: S101 - the plan checked that there is one
        self._connected.append(chat)
        return chat

    def _opened_embedder(self, progress: EmbedProgress | None = None) -> Embedder:
        self._fetch(self._embedder_config)
        embedder = build_embedder(self._embedder_config, self._call_context(), self._cache, progress)
        self._connected.append(embedder)
        return embedder

    @cached_property
    def judge(self) -> ChatModel:
        return self._opened_chat(self._judge_config)

    @cached_property
    def embedder(self) -> Embedder:
        return self._opened_embedder()

    def begin(self, run_id: str) -> None:
        """Record calls from now on as paid by this run."""
        self._payer = run_id
        if "_cache" in self.__dict__:
            self._cache.payer = run_id

    @cached_property
    def _cache(self) -> EmbeddingCache:
        key = embedder_cache_key(self._embedder_config)
        cache = EmbeddingCache(cache_dir() / "embeddings.sqlite", key, payer=self._payer)
        return self._stack.enter_context(closing(cache))


class JournaledModels(OpenedModels):
    """Models that this process calls, with one shared journal in `folder`, where servers of local models log."""

    cut_at: float | None = None
    """By when a server must have started, by `time.monotonic`."""

    def __init__(
        self,
        judge: JudgeConfig,
        embedder: EmbedderConfig,
        identities: Mapping[str, Mapping[str, Any]],
        folder: Path,
        reporter: Reporter,
        stack: ExitStack,
        *,
        budget: Budget,
        dialects: Dialects,
    ) -> None:
        # As many as the judge's server has slots, or as its config allows.
        concurrency = provider_of(judge).parallel(judge)
        super().__init__(judge, embedder, stack, concurrency, lambda: self._context_of(self._journal))
        self._identities, self._folder, self._reporter = identities, folder, reporter
        self.budget, self._dialects = budget, dialects
        self._left_out: dict[str, list[str]] = {}
        """Role -> parameters that are not sent, because the model rejects them."""
        self._journals: list[Journal] = []
        self._servers: dict[str, ServerAccess] = {}

    def _fetch(self, config: ModelConfig) -> None:
        fetch_weights(self._reporter, config)

    def _server(self, config: GeneratorConfig) -> ServerAccess | None:
        """The server started for this model; roles share one if they have the same model."""
        serve = provider_of(config).serve
        if serve is None:
            return None
        (what,) = server_digests({"model": model_identity(config)}).values()
        if what not in self._servers:
            self._folder.mkdir(parents=True, exist_ok=True)
            try:
                with ready_by(self.cut_at):
                    server = self._stack.enter_context(serve(config, self._folder / f"server-{config.role}.log"))
            except ModelUnavailable:
                self.budget.check_time()
                raise
            self._servers[what] = server.access
        return self._servers[what]

    def begin(self, run_id: str) -> None:
        super().begin(run_id)
        for journal in self._journals:
            journal.payer = run_id

    @cached_property
    def _journal(self) -> Journal:
        return self._stack.enter_context(closing(self._opened_journal()))

    def _opened_journal(self) -> Journal:
        path = self._folder / "calls.sqlite"
        self._journals.append(Journal(path, payer=self._payer, shared=True, tell=self._reporter.warn))
        return self._journals[-1]

    def _context_of(self, journal: Journal) -> CallContext:
        return CallContext(
            journal,
            server_digests(self._identities),
            dialects=self._dialects,
            noted=self._note,
            budget=self.budget,
            say=self._reporter.say,
        )

    def check_time(self) -> None:
        self.budget.check_time()

    def _note(self, role: str, dialect: Dialect) -> None:
        self._left_out[role] = dialect.left_out


class EvaluationModels(JournaledModels):
    """The models of an evaluation."""

    def __init__(
        self,
        plan: EvaluationPlan,
        folder: Path,
        reporter: Reporter,
        stack: ExitStack,
        budget: Budget | None = None,
    ) -> None:
        own, dialects = budget or Budget(), Dialects.under(folder.parent)
        models = (plan.judge, plan.embedder, plan.models)
        super().__init__(*models, folder, reporter, stack, budget=own, dialects=dialects)

    @property
    def server(self) -> ServerAccess | None:
        """The server of a local judge, started at first use; None for others."""
        self._fetch(self._judge_config)
        return self._server(self._judge_config)

    def call_server(
        self, roles: Collection[str], server: ServerAccess | None, loop: asyncio.AbstractEventLoop
    ) -> RemoteCallServer:
        """Makes their calls for remote workers, in `loop`; closed by the caller. `server`: the judge's."""
        models = (self._judge_config, self._embedder_config)
        called = {one.role: one for one in models if one.role in roles and provider_of(one).encoder is None}
        call_context = self._context_of(self._opened_journal())
        return RemoteCallServer(call_context, called, {self._judge_config.role: server} if server else {}, loop)

    def identity(self, role: str, model: Mapping[str, Any]) -> dict[str, Any]:
        """The identity of a model, with the parameters that were left out: they influence its judgements."""
        left_out = self._left_out.get(role)
        return {**model, "left_out": left_out} if left_out else dict(model)


class MeteredEvaluation:
    """Implements `harness.protocols.EvaluationRuntime`: meters judgements and reports progress."""

    seed = 0

    def __init__(self, models: OpenedModels, tell: Callable[[int, int, str], None]) -> None:
        self._models = models
        self._tell = tell
        self.concurrency = models.concurrency
        self.meter = Meter(SCOPE)
        self._part = ""

    @property
    def judge(self) -> ChatModel:
        return self._models.judge

    @property
    def embedder(self) -> Embedder:
        return self._models.embedder

    @contextmanager
    def charge(self) -> Iterator[None]:
        """Meter the calls of the block as one judgement. BudgetExhausted if the time is over."""
        self._models.check_time()
        with metered_apart(SCOPE, self.meter):
            yield

    def progress(self, done: int, total: int, doing: str) -> None:
        self._tell(done, total, f"{doing}{self._part}")

    def begin(self, run_id: str) -> None:
        """Begin a run: reset the meter, and record calls as paid by this run."""
        self._models.begin(run_id)
        self.meter = Meter(SCOPE)
        self._part = ""

    def begin_part(self, number: int, of: int) -> None:
        """Begin a part of a large run; progress is shown for each part."""
        self._part = f", part {number} of {of}"
