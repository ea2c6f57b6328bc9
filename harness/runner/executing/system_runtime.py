"""The runtime that a worker passes to its system."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from harness.core.records import AnswerStyle, Context, Evidence, Usage
from harness.core.sanitize import keep_made
from harness.llm_utils.answer_contract import answer_messages, generate
from harness.llm_utils.logprob_entailment import LogprobEntailment
from harness.models.cross_encoders import InferenceModel, open_reranker
from harness.models.metering import current_meter, stage
from harness.models.model_proxy_server import ModelProxyServer
from harness.protocols import (
    BY_GENERATOR,
    ChatModel,
    Embedder,
    Entailment,
    LogprobModel,
    ModelProxy,
    Reranker,
    Role,
    Route,
    System,
)


@dataclass
class WorkerRuntime:
    """Implements `harness.protocols.Runtime`."""

    index_dir: Path
    seed: int
    generator: ChatModel | None
    vectors: Embedder | None
    """None: the spec of the system names no embedder for this phase."""
    names_generator: bool = True
    """Whether the spec of the system names a generator for this phase. It is None if only retrieval is wanted."""
    answer_style: AnswerStyle = "short"
    gold: Mapping[str, Sequence[Evidence]] = field(default_factory=dict)
    tell: Callable[[int, int, str], None] = lambda _done, _total, _doing: None
    reranks_with: str | None = None
    retrieves_only: bool = False
    has_answers: bool = False
    model_proxy: ModelProxyServer | None = None
    """None: other code cannot use the models."""
    say: Callable[[str], None] = lambda _line: None
    entails_by: str | None = None
    routed_systems: dict[str, System] = field(default_factory=dict)
    """Route key -> system to which queries are routed."""

    @property
    def chat(self) -> ChatModel | None:
        if not self.names_generator:
            raise _unnamed("generator")
        return self.generator

    @property
    def embedder(self) -> Embedder:
        if self.vectors is None:
            raise _unnamed("embedder")
        return self.vectors

    @cached_property
    def reranker(self) -> Reranker:
        if self.reranks_with is None:
            raise RuntimeError("the system's spec names no reranker for these parameters: see SystemSpec.reranker")
        return open_reranker(self.reranks_with)

    @cached_property
    def entailment(self) -> Entailment:
        """The entailment model, or entailment by token probabilities of the generator. Opened at first use."""
        if self.entails_by is None:
            raise RuntimeError("the system's spec names no entailment model: see SystemSpec.entailment")
        if self.entails_by != BY_GENERATOR:
            return InferenceModel(self.entails_by).load()
        chat = self.chat
        if not isinstance(chat, LogprobModel):
            raise RuntimeError("the generator returns no token probabilities")
        return LogprobEntailment(chat)

    async def answer(self, question: str, contexts: Sequence[Context]) -> str | None:
        return await generate(self, answer_messages(question, contexts, self.answer_style))

    async def lend(self) -> ModelProxy:
        """Serve the models on this machine, and set the environment variables that OpenAI clients read."""
        proxy = self._served.open()
        for name, value in {
            "OPENAI_BASE_URL": proxy.base_url,
            "OPENAI_API_BASE": proxy.base_url,
            "OPENAI_API_KEY": proxy.api_key,
        }.items():
            keep_made(os.environ.get(name, ""))  # A real key is still removed from logs.
            os.environ[name] = value
        return proxy

    def lent_url(self) -> str:
        return self._served.url()

    @property
    def _served(self) -> ModelProxyServer:
        if self.model_proxy is None:
            raise RuntimeError("this runtime cannot serve its models to other code")
        return self.model_proxy

    def routed(self, route: Route) -> System:
        if route.key not in self.routed_systems:
            raise RuntimeError(f"no route to '{route.system}' was planned: see SystemSpec.routes")
        return self.routed_systems[route.key]

    def own_usage(self, usage: Usage | None) -> None:
        """Record the usage that a pipeline reports, unless the same calls were metered."""
        meter = current_meter()
        writes = meter.scope.startswith("answer/") and not self.retrieves_only
        meter.report_unmetered_usage(usage, beside={"embedder"} if writes else ())

    def warn(self, line: str) -> None:
        self.say(line)

    @contextmanager
    def throttled(self) -> Iterator[None]:
        """Time the block as waiting for a provider."""
        with current_meter().call() as call:
            call.turn(waits=True)
            yield

    def stage(self, name: str) -> AbstractContextManager[None]:
        return stage(name)

    def progress(self, done: int, total: int, doing: str) -> None:
        self.tell(done, total, doing)


def _unnamed(role: Role) -> RuntimeError:
    return RuntimeError(f"the system's spec names no {role} for this phase: see index_roles, answer_roles")
