"""One command: documents in, a question file out, with every candidate and check beside it."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.config import BudgetConfig, ModelsConfig
from harness.core.errors import BudgetExhausted
from harness.core.hashing import digest, text_digest
from harness.core.records import Document
from harness.extensions.testset.generator import QuestionGenerator, WritingEstimate, estimate
from harness.extensions.testset.model_checks import PassageSearch, QuestionJudging, controls_of
from harness.extensions.testset.prompts import VERSION
from harness.extensions.testset.question_records import (
    Candidate,
    Control,
    WorkFolder,
    WorkState,
    question_file_lock,
    question_row,
    rows_text,
)
from harness.extensions.testset.question_slots import Orders, WantedQuestions, plan_orders
from harness.llm_utils.concurrency import Progress, run_to_end
from harness.models.providers import provider_of
from harness.runner.budget_tracker import BudgetTracker, CostOwner
from harness.runner.model_preflight import fetch_weights
from harness.runner.progress import Reporter
from harness.runner.writer_models import WriterModels, WriterPlan, check_models, plan_models
from harness.statistics.prices import Prices, usage_usd
from harness.store import RunDir


@dataclass(frozen=True)
class WritingRequest:
    documents: Sequence[Document]
    source: str
    """The folder or data set, as the user gave it."""
    wanted: WantedQuestions
    seed: int
    models: ModelsConfig
    budget: BudgetConfig
    prices: Prices
    out: Path
    notes: tuple[str, ...] = ()
    began: float = field(default_factory=time.monotonic)
    """When `budget.minutes` began: reading documents and starting a server count, downloading weights does not."""


@dataclass(frozen=True)
class PlannedWriting:
    """The plan; nothing is paid yet."""

    request: WritingRequest
    models: WriterPlan
    orders: Orders
    estimate: WritingEstimate

    @property
    def asks_unanswerable(self) -> bool:
        return any(order.kind == "unanswerable" for order in self.orders.orders)

    @property
    def asked(self) -> dict[str, Any]:
        return {
            "documents": digest([document.model_dump() for document in self.request.documents]),
            "kinds": {order.kind: order.wanted for order in self.orders.orders},
            "seed": self.request.seed,
            "models": self.models.identities,
            "prompts": VERSION,
        }


@dataclass(frozen=True)
class Written:
    out: Path
    candidates: tuple[Candidate, ...]
    wanted: Mapping[str, int]
    controls: tuple[Control, ...]
    was_complete: bool
    stopped: BudgetExhausted | None
    """Why the budget ended it; the file has what was finished."""
    spending: BudgetTracker

    @property
    def kept(self) -> int:
        return _survivors(self.candidates)


def plan_writing(request: WritingRequest, reporter: Reporter) -> PlannedWriting:
    """The kinds and places of questions, with an estimate.

    Raises HarnessError: a mistake in the config, no text, kinds that these documents do not allow, a missing
    package.
    """
    models = plan_models(request.models)
    with reporter.bar("what documents share") as bar:
        orders = run_to_end(lambda: plan_orders(request.documents, request.wanted, request.seed, bar.update))
    expected = estimate(orders.orders, request.prices, models.identities, _embedded(request, models, orders))
    return PlannedWriting(request, models, orders, expected)


def write_questions(planned: PlannedWriting, reporter: Reporter) -> Written:
    """Write, check and save. After an interruption the same call continues, pays nothing twice and ends the same.

    Raises ConfigError if the file exists and was not written by it, HarnessError if a model is missing or writes
    nothing readable.
    """
    request, work = planned.request, WorkFolder(planned.request.out)
    work.check_out()
    with question_file_lock(request.out):
        before = work.check_out()
        spending = _spending(planned, work, reporter)
        wanted: dict[str, int] = {order.kind: order.wanted for order in planned.orders.orders}
        if before and before.is_complete and before.asked == planned.asked and request.out.exists():
            return Written(request.out, tuple(work.candidates()), wanted, before.controls, True, None, spending)
        check_models(planned.models)
        with spending.paused():
            fetch_weights(reporter, planned.models.writer, planned.models.judge, planned.models.embedder)
        spending.count()
        candidates, controls, stopped = run_to_end(lambda: _write(planned, work, spending, reporter))
        earlier = tuple(work.candidates()) if before and request.out.exists() else ()
        if stopped and _survivors(candidates) < _survivors(earlier):
            # If the budget ends before the earlier candidates are made again, they are kept.
            candidates, controls = earlier, before.controls if before else ()
        else:
            _keep(planned, work, (candidates, controls, stopped))
    return Written(request.out, tuple(candidates), wanted, tuple(controls), False, stopped, spending)


def _survivors(candidates: Sequence[Candidate]) -> int:
    return sum(one.survives for one in candidates)


def _embedded(request: WritingRequest, models: WriterPlan, orders: Orders) -> int:
    """Characters sent to an embedder that bills tokens."""
    is_searched = any(order.kind == "unanswerable" for order in orders.orders)
    if not is_searched or models.embedder.is_none or provider_of(models.embedder).encoder is not None:
        return 0
    return sum(len(document.text) for document in request.documents)


_Done = tuple[Sequence[Candidate], Sequence[Control], BudgetExhausted | None]


async def _write(planned: PlannedWriting, work: WorkFolder, spending: BudgetTracker, reporter: Reporter) -> _Done:
    """Everything that calls a model. If the budget ends it, what was finished, and why."""
    with ExitStack() as stack:
        models = WriterModels(planned.models, work.path, reporter, stack, spending)

        @contextmanager
        def told(what: str) -> Iterator[Progress]:
            """A progress bar with the cost."""

            def update(done: int, total: int) -> None:
                usd = usage_usd(planned.request.prices, planned.models.identities, models.meter.paid)
                bar.update(done, total, spending.note(models.budget.spent, usd), spending.seconds_left())

            with reporter.bar(what) as bar:
                yield update

        candidates: Sequence[Candidate] = ()
        try:
            search = None
            # Unanswerable questions must be searched in all documents.
            if planned.asks_unanswerable:
                search = PassageSearch(planned.request.documents, models.embedder)
                with told("passages") as models.embedding:
                    async with models.charge():
                        await search.prepare()
                models.embedding = None
            judging = QuestionJudging(models.judge, search)
            with told("questions") as progress:
                generator = QuestionGenerator(models, judging, planned.orders.orders, progress)
                await generator.work()
            candidates = generator.candidates
            if generator.stopped:
                return candidates, (), generator.stopped
            with told("controls of the judge") as progress:
                return candidates, await controls_of(models, judging, candidates, progress), None
        except BudgetExhausted as reached:
            return candidates, (), reached
        finally:
            await models.disconnect()


def _keep(planned: PlannedWriting, work: WorkFolder, done: _Done) -> None:
    candidates, controls, stopped = done
    rows = rows_text(question_row(one, planned.models.written_by) for one in candidates if one.survives)
    state = WorkState(
        asked=planned.asked,
        source=planned.request.source,
        file_digest=text_digest(rows),
        is_complete=stopped is None,
        controls=tuple(controls),
    )
    cited = {doc_id for one in candidates for doc_id in one.documents}
    work.write(state, candidates, [one for one in planned.request.documents if one.doc_id in cited], rows)


def _spending(planned: PlannedWriting, work: WorkFolder, reporter: Reporter) -> BudgetTracker:
    """The cost in its own journal, of any time."""
    identities = planned.models.identities
    payer = CostOwner(RunDir(work.path), identities)
    request = planned.request
    spending = BudgetTracker(request.budget, request.prices, work.path, [payer], request.began, reporter.warn)
    spending.check_prices(identities)
    return spending
