"""The writer, the judge and the embedder of one command, with one shared journal in its work folder."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.config import EmbedderConfig, GeneratorConfig, JudgeConfig, ModelsConfig
from harness.core.errors import ConfigError, ModelUnavailable
from harness.models.clients import OpenAIChat, build_chat
from harness.models.embedders import CachedEmbedder, EmbedProgress, build_embedder
from harness.models.embedding_cache import EmbeddingCache, embedder_cache_key
from harness.models.llama_server import ServerAccess, ready_by
from harness.models.metering import Meter, metered_apart
from harness.models.model_endpoint import model_identity, server_digests
from harness.models.providers import check_reachable, provider_of, resolve_embedder, resolve_generator
from harness.models.transport import CallContext
from harness.models.weights import cache_dir
from harness.protocols import ChatModel, Embedder
from harness.runner.budget_tracker import BudgetTracker
from harness.runner.model_preflight import fetch_weights
from harness.runner.progress import Reporter
from harness.store import Dialects, Journal

_SCOPE = "questions"
"""One scope for all candidates, so that equal requests are paid once, also with another number or seed."""
_CLOSING_SHARE = 0.5
"""Share of the reserve at the end of `budget.minutes` in which servers are stopped and the file is written."""
_NO_MODEL = "choose one, such as --set models.generator.provider=openai"


@dataclass(frozen=True)
class WriterPlan:
    writer: GeneratorConfig
    judge: JudgeConfig
    embedder: EmbedderConfig
    """Provider `none`: BM25 search only, and duplicates must have the same words."""

    @property
    def identities(self) -> dict[str, dict[str, Any]]:
        """By role, as in price lists and journals."""
        return {one.role: model_identity(one) for one in (self.writer, self.judge, self.embedder)}

    @property
    def written_by(self) -> str:
        return self.writer.label

    @property
    def judged_by(self) -> str:
        return self.judge.label


def plan_models(models: ModelsConfig) -> WriterPlan:
    """`models.generator` writes, `models.judge` checks; one alone does both. ConfigError if there is neither."""
    generator, judge = models.generator, models.judge
    if generator == GeneratorConfig():
        generator = _playing(GeneratorConfig, judge)
    elif judge == JudgeConfig():
        judge = _playing(JudgeConfig, generator)
    for role in (generator, judge):
        if role.is_none:
            raise ConfigError(
                f"models.{role.role}.provider is none, and a model has to write and to check", _NO_MODEL
            )
    writer = resolve_generator(_named(generator))
    return WriterPlan(writer, resolve_generator(_named(judge)), resolve_embedder(models.embedder))


def check_models(plan: WriterPlan) -> None:
    """Raise HarnessError if a key, server or package is missing; nothing is paid."""
    for model in (plan.writer, plan.judge, plan.embedder):
        check_reachable(model)


class WriterModels:
    """Opened on first use and closed by `stack`."""

    def __init__(
        self, plan: WriterPlan, work: Path, reporter: Reporter, stack: ExitStack, spending: BudgetTracker
    ) -> None:
        self._plan, self._work, self._reporter, self._stack = plan, work, reporter, stack
        self.budget = spending.budget(plan.identities)
        left = spending.allowance()
        self._cut_at: float | None = None
        """When open calls are cut off, by the clock of the event loop (`time.monotonic`)."""
        if left.begin_until is not None and left.end_by is not None:
            self._cut_at = left.end_by - _CLOSING_SHARE * (left.end_by - left.begin_until)
        self.meter = Meter(_SCOPE)
        self.embedding: EmbedProgress | None = None
        self._servers: dict[str, ServerAccess | None] = {}
        self._connected: list[OpenAIChat | CachedEmbedder] = []

    @property
    def concurrency(self) -> int:
        return provider_of(self._plan.writer).parallel(self._plan.writer)

    @cached_property
    def writer(self) -> ChatModel:
        return self._chat(self._plan.writer)

    @cached_property
    def judge(self) -> ChatModel:
        return self._chat(self._plan.judge)

    @cached_property
    def embedder(self) -> Embedder | None:
        """Embeds passages and questions; None: provider `none`."""
        config = self._plan.embedder
        if config.is_none:
            return None
        fetch_weights(self._reporter, config)
        cache = EmbeddingCache(
            cache_dir() / "embeddings.sqlite", embedder_cache_key(config), payer=self._work.name
        )
        self._stack.enter_context(closing(cache))
        self._connected.append(embedder := build_embedder(config, self._call_context(), cache, self._embedded))
        return embedder

    @asynccontextmanager
    async def charge(self) -> AsyncIterator[None]:
        """Around the calls for one candidate. BudgetExhausted if none may start, or one is open when time ends."""
        self.budget.check_time()
        try:
            async with asyncio.timeout_at(self._cut_at) as limit:
                with metered_apart(_SCOPE, self.meter):
                    yield
        except TimeoutError:
            if not limit.expired():
                raise
            self.budget.check_time()
            raise

    def _embedded(self, done: int, total: int) -> None:
        if self.embedding:
            self.embedding(done, total)

    async def disconnect(self) -> None:
        for model in self._connected:
            await model.close()

    def _chat(self, config: GeneratorConfig) -> ChatModel:
        fetch_weights(self._reporter, config)
        chat = build_chat(config, self._call_context(), self._server(config))
        assert chat is not None  # noqa: S101 - plan_models refuses it
        self._connected.append(chat)
        return chat

    def _server(self, config: GeneratorConfig) -> ServerAccess | None:
        """The server started for this model; writer and judge share one if they are the same model."""
        serve = provider_of(config).serve
        if serve is None:
            return None
        (what,) = server_digests({"model": model_identity(config)}).values()
        if what not in self._servers:
            self._work.mkdir(parents=True, exist_ok=True)
            log = self._work / f"server-{config.role}.log"
            try:
                with ready_by(self._cut_at):
                    self._servers[what] = self._stack.enter_context(serve(config, log)).access
            except ModelUnavailable:
                self.budget.check_time()
                raise
        return self._servers[what]

    @cached_property
    def _journal(self) -> Journal:
        path = self._work / "calls.sqlite"
        journal = Journal(path, payer=self._work.name, shared=True, tell=self._reporter.warn)
        return self._stack.enter_context(closing(journal))

    def _call_context(self) -> CallContext:
        servers = server_digests(self._plan.identities)
        # What a model refuses is learnt once for all commands with these candidates.
        dialects = Dialects.under(self._work)
        return CallContext(self._journal, servers, dialects=dialects, budget=self.budget, say=self._reporter.say)


def _playing(kind: type[GeneratorConfig], other: GeneratorConfig) -> Any:
    """The same model in another role, with that role's own maximum reply length."""
    return kind.model_validate(other.model_dump(exclude={"max_tokens"}))


def _named(config: Any) -> Any:
    """Bundled models: the writer gets the judge's size, because the smaller model writes no usable questions."""
    if config.model or not provider_of(config).is_here:
        return config
    judge = JudgeConfig.model_validate(config.model_dump())
    return config.model_copy(update={"model": resolve_generator(judge).model})
