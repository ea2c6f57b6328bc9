"""Documents in, a question file out, with every candidate and check beside it."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.api.config_building import bench_config, price_table
from harness.config import BudgetConfig
from harness.core.errors import BudgetExhausted
from harness.core.hashing import digest, text_digest
from harness.core.records import Document
from harness.extensions.testset.documents import check_out, read_documents
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
from harness.extensions.testset.question_slots import Order, parse_kinds, plan_orders
from harness.llm_utils.concurrency import Progress, run_to_end
from harness.models.providers import provider_of
from harness.runner.budget_tracker import BudgetTracker, CostOwner
from harness.runner.model_preflight import fetch_weights
from harness.runner.progress import Reporter
from harness.runner.writer_models import WriterModels, WriterPlan, check_models, plan_models
from harness.statistics.prices import Prices, usage_usd
from harness.store import RunDir


@dataclass(frozen=True)
class WriteOptions:
    folder: Path | None = None
    dataset: str | None = None
    """The name of a data set whose documents are used instead of a folder's."""
    out: Path = Path("questions.jsonl")
    total: int = 50
    kinds: tuple[str, ...] = ()
    """Such as `bridge` or `bridge=10`; empty: all that the documents allow."""
    seed: int = 0
    config: Path | None = None
    settings: tuple[str, ...] = ()
    prices: Path | None = None
    quiet: bool = False
    include: tuple[str, ...] = ()
    """Files that are read although an ignore rule excludes them: see `read_folder`."""
    began: float = field(default_factory=time.monotonic)
    """When `budget.minutes` began: reading documents and starting a server count, downloading weights does not."""

    @property
    def source(self) -> str:
        return str(self.dataset or self.folder)


@dataclass(frozen=True)
class PlannedWriting:
    """The plan; nothing is paid yet."""

    options: WriteOptions
    documents: Sequence[Document]
    models: WriterPlan
    orders: Sequence[Order]
    notes: Sequence[str]
    estimate: WritingEstimate
    budget: BudgetConfig
    prices: Prices

    @property
    def wanted(self) -> dict[str, int]:
        """Kind -> number of questions."""
        return {order.kind: order.wanted for order in self.orders}

    @property
    def asked(self) -> dict[str, Any]:
        """What determines the questions."""
        return {
            "documents": digest([document.model_dump() for document in self.documents]),
            "kinds": self.wanted,
            "seed": self.options.seed,
            "models": self.models.identities,
            "prompts": VERSION,
        }


@dataclass(frozen=True)
class Written:
    candidates: Sequence[Candidate]
    controls: Sequence[Control]
    stopped: BudgetExhausted | None
    """Why the budget ended it; the file has what was finished."""
    spending: BudgetTracker
    was_complete: bool = False

    @property
    def kept(self) -> int:
        return sum(one.survives for one in self.candidates)


def plan_questions(options: WriteOptions, reporter: Reporter) -> PlannedWriting:
    """The kinds and places of questions, with an estimate.

    HarnessError: a mistake in the options or the config, no text, kinds that these documents do not allow, or a
    missing package.
    """
    config = bench_config(options.config, settings=options.settings)
    kinds = parse_kinds(options.kinds)
    check_out(options.out, options.folder)
    with reporter.reading() as tell:
        documents, notes = read_documents(
            options.folder,
            tell,
            dataset=options.dataset,
            subset=config.dataset.subset if options.dataset else None,
            include=options.include,
        )
    models, prices = plan_models(config.models), price_table(options.prices or config.prices)
    with reporter.bar("what documents share") as bar:
        orders, impossible = run_to_end(
            lambda: plan_orders(documents, options.total, kinds, options.seed, bar.update)
        )
    embedded = 0
    # Characters sent to an embedder that bills tokens; only unanswerable questions are searched for.
    if _asks_unanswerable(orders) and not models.embedder.is_none and provider_of(models.embedder).encoder is None:
        embedded = sum(len(document.text) for document in documents)
    expected = estimate(orders, prices, models.identities, embedded)
    return PlannedWriting(
        options, documents, models, orders, [*notes, *impossible], expected, config.budget, prices
    )


def write_questions(planned: PlannedWriting, reporter: Reporter) -> Written:
    """Write, check and save. After an interruption the same call continues, pays nothing twice and ends the same.

    Raises ConfigError if the file exists and was not written by it, HarnessError if a model is missing or writes
    nothing readable.
    """
    out, models = planned.options.out, planned.models
    work = WorkFolder(out)
    work.check_out()
    with question_file_lock(out):
        before = work.check_out()
        # The cost in its own journal, of any time.
        payer = CostOwner(RunDir(work.path), models.identities)
        budget, began = planned.budget, planned.options.began
        spending = BudgetTracker(budget, planned.prices, work.path, [payer], began, reporter.warn)
        spending.check_prices(models.identities)
        earlier = Written((), (), None, spending)
        if before and out.exists():
            earlier = Written(work.candidates(), before.controls, None, spending, was_complete=True)
            if before.is_complete and before.asked == planned.asked:
                return earlier
        check_models(models)
        with spending.paused():
            fetch_weights(reporter, models.writer, models.judge, models.embedder)
        spending.count()
        written = run_to_end(lambda: _write(planned, work, spending, reporter))
        if written.stopped and written.kept < earlier.kept:
            # If the budget ends before the earlier candidates are made again, they are kept.
            return Written(earlier.candidates, earlier.controls, written.stopped, spending)
        rows = rows_text(question_row(one, models.written_by) for one in written.candidates if one.survives)
        state = WorkState(
            asked=planned.asked,
            source=planned.options.source,
            file_digest=text_digest(rows),
            is_complete=written.stopped is None,
            controls=tuple(written.controls),
        )
        cited = {doc_id for one in written.candidates for doc_id in one.documents}
        texts = [one for one in planned.documents if one.doc_id in cited]
        work.write(state, written.candidates, texts, rows)
        return written


def _asks_unanswerable(orders: Sequence[Order]) -> bool:
    return any(order.kind == "unanswerable" for order in orders)


async def _write(
    planned: PlannedWriting, work: WorkFolder, spending: BudgetTracker, reporter: Reporter
) -> Written:
    """Everything that calls a model. If the budget ends it, what was finished, and why."""
    with ExitStack() as stack:
        models = WriterModels(planned.models, work.path, reporter, stack, spending)

        @contextmanager
        def told(what: str) -> Iterator[Progress]:
            """A progress bar with the cost."""

            def update(done: int, total: int) -> None:
                usd = usage_usd(planned.prices, planned.models.identities, models.meter.paid)
                bar.update(done, total, spending.note(models.budget.spent, usd), spending.seconds_left())

            with reporter.bar(what) as bar:
                yield update

        candidates: Sequence[Candidate] = ()
        try:
            search = None
            # Unanswerable questions must be searched in all documents.
            if _asks_unanswerable(planned.orders):
                search = PassageSearch(planned.documents, models.embedder)
                with told("passages") as models.embedding:
                    async with models.charge():
                        await search.prepare()
                models.embedding = None
            judging = QuestionJudging(models.judge, search)
            with told("questions") as progress:
                generator = QuestionGenerator(models, judging, planned.orders, progress)
                await generator.work()
            candidates = generator.candidates
            if generator.stopped:
                return Written(candidates, (), generator.stopped, spending)
            with told("controls of the judge") as progress:
                controls = await controls_of(models, judging, candidates, progress)
            return Written(candidates, controls, None, spending)
        except BudgetExhausted as reached:
            return Written(candidates, (), reached, spending)
        finally:
            await models.disconnect()
