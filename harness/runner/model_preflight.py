"""Downloads missing weights, and calls each model of a command once before anything else is paid, so that a
bad key or model name fails early.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.config import ModelConfig
from harness.llm_utils.concurrency import run_to_end
from harness.models.huggingface_hub_files import WeightFile
from harness.models.model_endpoint import server_digests
from harness.models.probe import ask_once, is_asked
from harness.models.providers import provider_of
from harness.models.transport import CallContext
from harness.models.weights import cached_path, fetch
from harness.runner.budget_tracker import BudgetTracker
from harness.runner.evaluating.plan import EvaluationPlan
from harness.runner.plan import Cell
from harness.runner.progress import Reporter
from harness.store import Dialects, IndexDir, Journal, RunDir
from harness.store.asked_calls import PREFLIGHT


def fetch_weights(reporter: Reporter, *models: ModelConfig) -> None:
    """Download the weight files of these models that are missing, with a progress bar."""
    fetch_files(reporter, (weights for model in models for weights in provider_of(model).weights(model)))


def fetch_files(reporter: Reporter, files: Iterable[WeightFile]) -> None:
    """Download those of the files that are missing, with a progress bar."""
    for weights in {file.name: file for file in files}.values():
        if cached_path(weights) is None:
            reporter.say(f"fetching {weights.name} ({weights.size_bytes / 1e6:,.0f} MB)")
            with reporter.aside():
                fetch(weights, None if reporter.quiet else reporter.bar)


@dataclass
class Preflight:
    """The first calls of one command.

    Each call is journaled and counts against the budget, and is paid by the first run that needs the model. It is
    not part of any system's cost. A call answered today is not repeated. On later days it is, because a
    model or key may no longer work.
    """

    results: Path
    reporter: Reporter
    spending: BudgetTracker
    _asked: set[str] = field(default_factory=set)

    def ask(self, cells: Sequence[Cell], evaluation: EvaluationPlan | None) -> None:
        """Call the models of these unfinished configurations, and their judges, if they are behind a
        server. ModelUnavailable if a model, its key or a parameter is rejected.
        """
        # A server may load the model first. That time does not count as minutes of the budget.
        with self.spending.paused():
            for cell in cells:
                journal = IndexDir(self.results, cell.index_id).journal_path
                self._ask_all(list(cell.models.values()), cell, cell.identity["models"], journal)
            if cells and evaluation is not None:
                judging = [one for one in (evaluation.judge, evaluation.embedder) if evaluation.needs(one.role)]
                journal = self.results / "judge" / "calls.sqlite"
                self._ask_all(judging, cells[0], evaluation.models, journal)

    def _ask_all(
        self, models: Sequence[ModelConfig], payer: Cell, identities: Mapping[str, Any], journal_path: Path
    ) -> None:
        new = [model for model in models if is_asked(model) and self._is_new(model)]
        if not new:
            return
        self.spending.count()
        with closing(Journal(journal_path, payer=payer.run_id, shared=True, tell=self.reporter.warn)) as journal:
            for model in new:
                self._ask(model, self._call_context(journal, payer, identities))

    def _ask(self, model: ModelConfig, call_context: CallContext) -> None:
        warning = run_to_end(lambda: ask_once(model, call_context, f"{PREFLIGHT}/{datetime.now(UTC).date()}"))
        if warning:
            self.reporter.warn(f"warning: {warning}")

    def _call_context(self, journal: Journal, payer: Cell, identities: Mapping[str, Any]) -> CallContext:
        return CallContext(
            journal,
            server_digests(identities),
            dialects=Dialects.under(self.results),
            begun_in=RunDir(self.results / payer.run_id).dialects(),
            budget=self.spending.budget(identities),
            say=self.reporter.say,
        )

    def _is_new(self, model: ModelConfig) -> bool:
        """Whether the model was not called yet: several configurations can use it."""
        named = f"{model.role} {model.model_dump_json()}"
        is_new = named not in self._asked
        self._asked.add(named)
        return is_new
