"""What a worker hands to its system."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from harness.core.records import AnswerStyle, Context, Evidence, Usage
from harness.core.sanitize import keep_made
from harness.llm_utils.answer_contract import answer_messages, generate
from harness.llm_utils.logprob_entailment import LogprobEntailment
from harness.models.entailment import open_entailment
from harness.models.metering import current_meter, stage
from harness.models.model_proxy_server import ModelProxyServer
from harness.models.rerankers import open_reranker
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

M = TypeVar("M")


class Unnamed:
    """In place of a model that a system's spec does not name for this phase."""

    def __init__(self, role: Role) -> None:
        self.role = role


@dataclass
class WorkerRuntime:
    """See `harness.protocols.Runtime`."""

    index_dir: Path
    seed: int
    generator: ChatModel | Unnamed | None
    vectors: Embedder | Unnamed
    answer_style: AnswerStyle = "short"
    gold: Mapping[str, Sequence[Evidence]] = field(default_factory=dict)
    tell: Callable[[int, int, str], None] = lambda _done, _total, _doing: None
    reranks_with: str | None = None
    retrieves_only: bool = False
    lending: ModelProxyServer | None = None
    """None: nothing is lent."""
    say: Callable[[str], None] = lambda _line: None
    entails_by: str | None = None
    lent: dict[str, System] = field(default_factory=dict)
    """By the key of its route."""

    @property
    def chat(self) -> ChatModel | None:
        """The generator."""
        return _named(self.generator)

    @property
    def embedder(self) -> Embedder:
        """The embedder."""
        return _named(self.vectors)

    @cached_property
    def reranker(self) -> Reranker:
        """The cross-encoder, opened by who first asks for it."""
        if self.reranks_with is None:
            raise RuntimeError("the system's spec names no reranker for these parameters: see SystemSpec.reranker")
        return open_reranker(self.reranks_with)

    @cached_property
    def entailment(self) -> Entailment:
        """The model of inference, or the generator's letters."""
        if self.entails_by is None:
            raise RuntimeError("the system's spec names no model of inference: see SystemSpec.entailment")
        if self.entails_by != BY_GENERATOR:
            return open_entailment(self.entails_by)
        chat = self.chat
        if not isinstance(chat, LogprobModel):
            raise RuntimeError("there is no generator whose letters could be read")
        return LogprobEntailment(chat)

    async def answer(self, question: str, contexts: Sequence[Context]) -> str | None:
        """One generation under the shared contract."""
        return await generate(self, answer_messages(question, contexts, self.answer_style))

    async def lend(self) -> ModelProxy:
        """Serve them on this machine, and say so in the variables that OpenAI's clients look at."""
        if self.lending is None:
            raise RuntimeError("nothing is lent here")
        lent = self.lending.open()
        for name, value in {
            "OPENAI_BASE_URL": lent.base_url,
            "OPENAI_API_BASE": lent.base_url,
            "OPENAI_API_KEY": lent.api_key,
        }.items():
            keep_made(os.environ.get(name, ""))  # A real key is taken out of logs still.
            os.environ[name] = value
        return lent

    def lent_url(self) -> str:
        """Of the current query."""
        if self.lending is None:
            raise RuntimeError("nothing is lent here")
        return self.lending.url()

    def routed(self, route: Route) -> System:
        """The system that the runner opened for it."""
        if route.key not in self.lent:
            raise RuntimeError(f"'{route.system}' is lent to no system here: see SystemSpec.routes")
        return self.lent[route.key]

    def own_usage(self, usage: Usage | None) -> None:
        """As the pipeline says, where nothing was metered that could be it."""
        meter = current_meter()
        writes = meter.scope.startswith("answer/") and not self.retrieves_only
        meter.tell_own(usage, beside={"embedder"} if writes else ())

    def warn(self, line: str) -> None:
        """A line for whoever waits."""
        self.say(line)

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Time a part of the work under `name`."""
        return stage(name)

    def progress(self, done: int, total: int, doing: str) -> None:
        """Say how far the index is."""
        self.tell(done, total, doing)


def _named(model: M | Unnamed) -> M:
    if isinstance(model, Unnamed):
        raise RuntimeError(
            f"the system's spec names no {model.role} for this phase: see index_roles, answer_roles"
        )
    return model
