"""The writer, the judge and the embedder of one command, with one shared journal in its work folder."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.config import EmbedderConfig, GeneratorConfig, JudgeConfig, ModelsConfig
from harness.core.errors import ConfigError
from harness.models.embedders import EmbedProgress
from harness.models.metering import Meter, metered_apart
from harness.models.model_endpoint import model_identity
from harness.models.providers import check_reachable, provider_of, resolve_embedder, resolve_generator
from harness.protocols import ChatModel, Embedder
from harness.runner.budget_tracker import BudgetTracker
from harness.runner.evaluating.models import JournaledModels
from harness.runner.progress import Reporter
from harness.store import Dialects

_SCOPE = "questions"
"""One scope for all candidates, so that equal requests are paid once, also with another number or seed."""
_CLOSING_SHARE = 0.5
"""Share of the reserve at the end of `budget.minutes` in which servers are stopped and the file is written."""


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
            what = f"models.{role.role}.provider is none, and a model has to write and to check"
            raise ConfigError(what, "choose one, such as --set models.generator.provider=openai")
    writer = resolve_generator(_named(generator))
    return WriterPlan(writer, resolve_generator(_named(judge)), resolve_embedder(models.embedder))


def check_models(plan: WriterPlan) -> None:
    """Raise HarnessError if a key, server or package is missing; nothing is paid."""
    for model in (plan.writer, plan.judge, plan.embedder):
        check_reachable(model)


class WriterModels(JournaledModels):
    """Opened on first use and closed by `stack`."""

    def __init__(
        self, plan: WriterPlan, work: Path, reporter: Reporter, stack: ExitStack, spending: BudgetTracker
    ) -> None:
        budget = spending.budget(plan.identities)
        # What a model refuses is learnt once for all commands with these candidates.
        dialects = Dialects.under(work)
        models = (plan.judge, plan.embedder, plan.identities)
        super().__init__(*models, work, reporter, stack, budget=budget, dialects=dialects)
        self.begin(work.name)
        self._plan = plan
        self.concurrency = provider_of(plan.writer).parallel(plan.writer)
        left = spending.allowance()
        if left.begin_until is not None and left.end_by is not None:
            # Open calls are cut off then, too.
            self.cut_at = left.end_by - _CLOSING_SHARE * (left.end_by - left.begin_until)
        self.meter = Meter(_SCOPE)
        self.embedding: EmbedProgress | None = None

    @cached_property
    def writer(self) -> ChatModel:
        return self._opened_chat(self._plan.writer)

    @cached_property
    def embedder(self) -> Embedder | None:  # type: ignore[override]
        """Embeds passages and questions; None: provider `none`."""
        return None if self._plan.embedder.is_none else self._opened_embedder(self._embedded)

    @asynccontextmanager
    async def charge(self) -> AsyncIterator[None]:
        """Around the calls for one candidate. BudgetExhausted if none may start, or one is open when time ends."""
        self.budget.check_time()
        try:
            async with asyncio.timeout_at(self.cut_at) as limit:
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


def _playing(kind: type[GeneratorConfig], other: GeneratorConfig) -> Any:
    """The same model in another role, with that role's own maximum reply length."""
    return kind.model_validate(other.model_dump(exclude={"max_tokens"}))


def _named(config: Any) -> Any:
    """Bundled models: the writer gets the judge's size, because the smaller model writes no usable questions."""
    if config.model or not provider_of(config).is_here:
        return config
    judge = JudgeConfig.model_validate(config.model_dump())
    return config.model_copy(update={"model": resolve_generator(judge).model})
