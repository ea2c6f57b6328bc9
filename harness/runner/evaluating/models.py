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

from harness.config import JudgeConfig, JudgeEmbedderConfig
from harness.models.budget import Budget
from harness.models.clients import AnyCallContext, OpenAIChat, build_chat
from harness.models.embedders import CachedEmbedder, build_embedder
from harness.models.embedding_cache import EmbeddingCache, embedder_cache_key
from harness.models.llama_server import ServerAccess
from harness.models.metering import Meter, metered_apart
from harness.models.model_endpoint import server_digests
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
    """The judge and the embedder, called by this process or by the one that started it. `stack` closes them."""

    def __init__(
        self,
        judge: JudgeConfig,
        embedder: JudgeEmbedderConfig,
        stack: ExitStack,
        *,
        concurrency: int,
        open_call_context: Callable[[], AnyCallContext],
    ) -> None:
        """`open_call_context` is called once for each model."""
        self._judge_config, self._embedder_config, self._stack = judge, embedder, stack
        self.concurrency, self._open_call_context = concurrency, open_call_context
        """The number of judgements to run in parallel."""
        self._payer = ""
        self._connected: list[OpenAIChat | CachedEmbedder] = []

    def check_time(self) -> None:
        """BudgetExhausted if the time is over. In a remote worker, another process checks that."""

    @property
    def server(self) -> ServerAccess | None:
        return None

    def _fetch(self, config: JudgeEmbedderConfig) -> None:
        """Download the weights, if any, with a progress bar. Loading them later would show none."""

    async def disconnect(self) -> None:
        """Close the connections to servers. To be called in the event loop that used them."""
        for model in self._connected:
            await model.close()

    @cached_property
    def judge(self) -> ChatModel:
        chat = build_chat(self._judge_config, self._open_call_context(), self.server)
        assert chat is not None  # noqa: S101 - the plan checked that there is a judge
        self._connected.append(chat)
        return chat

    @cached_property
    def embedder(self) -> Embedder:
        self._fetch(self._embedder_config)
        embedder = build_embedder(self._embedder_config, self._open_call_context(), self._cache)
        self._connected.append(embedder)
        return embedder

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


class EvaluationModels(OpenedModels):
    """The models of a plan, with one shared journal in `folder`. A local judge's server is started when needed."""

    def __init__(
        self,
        plan: EvaluationPlan,
        folder: Path,
        reporter: Reporter,
        stack: ExitStack,
        budget: Budget | None = None,
    ) -> None:
        super().__init__(
            plan.judge,
            plan.embedder,
            stack,
            # As many as the judge's server has slots, or as its config allows.
            concurrency=provider_of(plan.judge).parallel(plan.judge),
            # One for each model: if one server is down, calls to the other continue.
            open_call_context=lambda: self._call_context(self._journal),
        )
        self._plan, self._folder, self._reporter = plan, folder, reporter
        self.budget = budget or Budget()
        """The remaining budget for judgements."""
        self._left_out: dict[str, list[str]] = {}
        """Role -> parameters that are not sent, because the model rejects them."""
        self._journals: list[Journal] = []

    @cached_property
    def server(self) -> ServerAccess | None:
        config = self._plan.judge
        fetch_weights(self._reporter, config)
        serve = provider_of(config).serve
        if serve is None:
            return None
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._stack.enter_context(serve(config, self._folder / "server.log")).access

    def _fetch(self, config: JudgeEmbedderConfig) -> None:
        fetch_weights(self._reporter, config)

    def call_server(
        self, roles: Collection[str], server: ServerAccess | None, loop: asyncio.AbstractEventLoop
    ) -> RemoteCallServer:
        """Makes their calls for remote workers, in `loop`; closed by the caller. `server`: the judge's."""
        models = (self._plan.judge, self._plan.embedder)
        called = {one.role: one for one in models if one.role in roles and provider_of(one).encoder is None}
        call_context = self._call_context(self._opened_journal())
        return RemoteCallServer(call_context, called, {self._plan.judge.role: server} if server else {}, loop)

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

    def _call_context(self, journal: Journal) -> CallContext:
        return CallContext(
            journal,
            server_digests(self._plan.models),
            dialects=Dialects.under(self._folder.parent),
            noted=self._note,
            budget=self.budget,
            say=self._reporter.say,
        )

    def check_time(self) -> None:
        self.budget.check_time()

    def identity(self, role: str, model: Mapping[str, Any]) -> dict[str, Any]:
        """The identity of a model, with the parameters that were left out: they influence its judgements."""
        left_out = self._left_out.get(role)
        return {**model, "left_out": left_out} if left_out else dict(model)

    def _note(self, role: str, dialect: Dialect) -> None:
        self._left_out[role] = dialect.left_out


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
