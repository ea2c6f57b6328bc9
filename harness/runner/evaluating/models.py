"""The models of an evaluation: opened when an evaluator first asks for them, closed with the evaluation.

One journal (`results/judge/calls.sqlite`) holds every call of every evaluation: a judgement of the same text by
the same model is paid once, whichever run it belongs to, and a killed evaluation goes on where it was.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.config import JudgeConfig, JudgeEmbedderConfig
from harness.models.budget import Budget
from harness.models.clients import AnySeam, OpenAIChat, build_chat
from harness.models.embedders import CachedEmbedder, build_embedder, embedder_cache_key
from harness.models.embedding_cache import EmbeddingCache
from harness.models.llama_server import ServerAccess
from harness.models.metering import Meter, metered_apart
from harness.models.model_identity import server_digests
from harness.models.providers import provider_of
from harness.models.remote_call_server import RemoteCallServer
from harness.models.transport import Seam
from harness.models.weights import cache_dir
from harness.protocols import ChatModel, Embedder
from harness.runner.evaluating.plan import EvaluationPlan
from harness.runner.progress import Reporter
from harness.runner.weight_download import fetch_weights
from harness.store import Dialect, Dialects, Journal

SCOPE = "judge"
"""Of every judgement in the journal: a text is judged once, whichever run it belongs to."""


class OpenedModels(ABC):
    """A judge and an embedder, wherever their calls are made; what is opened is closed by `stack`."""

    def __init__(self, judge: JudgeConfig, embedder: JudgeEmbedderConfig, stack: ExitStack) -> None:
        self._judge_config, self._embedder_config, self._stack = judge, embedder, stack
        self._payer = ""
        self._connected: list[OpenAIChat | CachedEmbedder] = []

    @property
    @abstractmethod
    def concurrency(self) -> int:
        """Judgements worth having under way at once."""
        ...

    @abstractmethod
    def check_time(self) -> None:
        """Raise BudgetReached where the time is over."""
        ...

    @abstractmethod
    def _open_seam(self) -> AnySeam:
        """What the calls of one model pass."""
        ...

    @property
    def server(self) -> ServerAccess | None:
        """The judge's, if one was started for it here."""
        return None

    def _fetch(self, config: JudgeEmbedderConfig) -> None:  # noqa: B027 - a worker has no bar
        """Have its weights here, behind a bar where there is one: whoever loads them fetches what it lacks."""

    async def disconnect(self) -> None:
        """Close the connections to its servers, within the loop in which they were asked."""
        for model in self._connected:
            await model.close()

    @cached_property
    def judge(self) -> ChatModel:
        """The model that judges."""
        chat = build_chat(self._judge_config, self._open_seam(), self.server)
        assert chat is not None  # noqa: S101 - the plan refuses evaluators that would ask nobody
        self._connected.append(chat)
        return chat

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder; its vectors come from the content cache where they can."""
        self._fetch(self._embedder_config)
        embedder = build_embedder(self._embedder_config, self._open_seam(), self._cache)
        self._connected.append(embedder)
        return embedder

    def begin(self, run_id: str) -> None:
        """What is asked from now on is paid by this run."""
        self._payer = run_id
        if "_cache" in self.__dict__:
            self._cache.payer = run_id

    @cached_property
    def _cache(self) -> EmbeddingCache:
        key = embedder_cache_key(self._embedder_config)
        cache = EmbeddingCache(cache_dir() / "embeddings.sqlite", key, payer=self._payer)
        return self._stack.enter_context(closing(cache))


class EvaluationModels(OpenedModels):
    """Those of a plan, over one shared journal under `folder`; the judge's server is started if it is one of this
    machine.
    """

    def __init__(
        self,
        plan: EvaluationPlan,
        folder: Path,
        reporter: Reporter,
        stack: ExitStack,
        budget: Budget | None = None,
    ) -> None:
        super().__init__(plan.judge, plan.embedder, stack)
        self._plan, self._folder, self._reporter = plan, folder, reporter
        self.budget = budget or Budget()
        """What judgements may still take."""
        self._left_out: dict[str, list[str]] = {}
        """Role -> parameters that its model refuses, and so is not sent."""
        self._journals: list[Journal] = []

    @property
    def concurrency(self) -> int:
        """See `OpenedModels`: a local server has a few slots."""
        return provider_of(self._plan.judge).parallel(self._plan.judge)

    @cached_property
    def server(self) -> ServerAccess | None:
        """The judge's, if it is one of this machine: then it is started."""
        config = self._plan.judge
        fetch_weights(self._reporter, config)
        serve = provider_of(config).serve
        if serve is None:
            return None
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._stack.enter_context(serve(config, self._folder / "server.log")).access

    def _fetch(self, config: JudgeEmbedderConfig) -> None:
        fetch_weights(self._reporter, config)

    def desk(
        self, roles: Collection[str], server: ServerAccess | None, loop: asyncio.AbstractEventLoop
    ) -> RemoteCallServer:
        """Where workers elsewhere have the calls of these roles made; called in its loop, closed by the caller.

        `server`: the judge's, if one was started for it. An encoder works where the worker is.
        """
        models = (self._plan.judge, self._plan.embedder)
        called = {one.role: one for one in models if one.role in roles and provider_of(one).encoder is None}
        seam = self._seam(self._opened_journal())
        return RemoteCallServer(seam, called, {self._plan.judge.role: server} if server else {}, loop)

    def begin(self, run_id: str) -> None:
        """See `OpenedModels`."""
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

    def _open_seam(self) -> Seam:
        return self._seam(self._journal)

    def _seam(self, journal: Journal) -> Seam:
        # A seam for each model: where one server is down, the other's calls go on.
        servers = server_digests(self._plan.models)
        return Seam(
            journal,
            servers,
            dialects=Dialects.under(self._folder.parent),
            noted=self._note,
            budget=self.budget,
            say=self._reporter.say,
        )

    def check_time(self) -> None:
        """See `OpenedModels`."""
        self.budget.check_time()

    def identity(self, role: str, model: Mapping[str, Any]) -> dict[str, Any]:
        """What a model is, with what it refuses: what was not sent to a judge is part of how it judges."""
        left_out = self._left_out.get(role)
        return {**model, "left_out": left_out} if left_out else dict(model)

    def _note(self, role: str, dialect: Dialect) -> None:
        self._left_out[role] = dialect.left_out


class MeteredEvaluation:
    """See `harness.protocols.EvaluationRuntime`."""

    seed = 0

    def __init__(self, models: OpenedModels, tell: Callable[[int, int, str], None]) -> None:
        self._models = models
        self._tell = tell
        self.concurrency = models.concurrency
        self.meter = Meter(SCOPE)
        """All that was charged since the current run began."""
        self._part = ""

    @property
    def judge(self) -> ChatModel:
        """The model that judges."""
        return self._models.judge

    @property
    def embedder(self) -> Embedder:
        """The evaluators' embedder."""
        return self._models.embedder

    @contextmanager
    def charge(self) -> Iterator[None]:
        """Charge what is called inside as one judgement."""
        self._models.check_time()
        with metered_apart(SCOPE, self.meter):
            yield

    def progress(self, done: int, total: int, doing: str) -> None:
        """Say how far the evaluation is."""
        self._tell(done, total, f"{doing}{self._part}")

    def begin(self, run_id: str) -> None:
        """A run begins: it pays for what is asked from now on."""
        self._models.begin(run_id)
        self.meter = Meter(SCOPE)
        self._part = ""

    def begin_part(self, number: int, of: int) -> None:
        """A part of a large run begins, whose progress is told by itself."""
        self._part = f", part {number} of {of}"
