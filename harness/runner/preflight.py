"""Each model that a command will pay is asked once before anything else is paid: what is refused is one line."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.config import ModelConfig
from harness.llm_utils.event_loop import run_to_end
from harness.models.budget import Budget
from harness.models.model_identity import server_digests
from harness.models.probe import ask_once, is_asked
from harness.models.transport import Seam
from harness.runner.budget_tracker import BudgetTracker
from harness.runner.evaluating.plan import EvaluationPlan
from harness.runner.plan import Cell
from harness.runner.progress import Reporter
from harness.store import Dialects, IndexDir, Journal, RunDir
from harness.store.asked_calls import PREFLIGHT


@dataclass
class Preflight:
    """The first calls of one command.

    A call is journaled and counts against the budget as one of the first run that needs it, and is no part of what
    a system costs. One that was answered today is not made again: a model may be taken away, or a key, and whoever
    resumes is told in a line.
    """

    results: Path
    reporter: Reporter
    spending: BudgetTracker
    _asked: set[str] = field(default_factory=set)

    def ask(self, cells: Sequence[Cell], evaluation: EvaluationPlan | None) -> None:
        """Ask the models of these cells, which have something to do, and those that judge them, where a server
        plays them. Raises ModelUnavailable where a model, its key or a parameter is refused.
        """
        # A model that is loaded first answers no less within the budget's minutes.
        with self.spending.standing():
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
                self._ask(model, self._seam(journal, payer, identities))

    def _ask(self, model: ModelConfig, seam: Seam) -> None:
        run_to_end(lambda: ask_once(model, seam, f"{PREFLIGHT}/{datetime.now(UTC).date()}"))

    def _seam(self, journal: Journal, payer: Cell, identities: Mapping[str, Any]) -> Seam:
        prices = self.spending.prices_of(identities)
        return Seam(
            journal,
            server_digests(identities),
            dialects=Dialects.under(self.results),
            begun_in=RunDir(self.results / payer.run_id).dialects(),
            budget=Budget(self.spending.allowance(), lambda role, usage: prices[role].usd(usage)),
            say=self.reporter.say,
        )

    def _is_new(self, model: ModelConfig) -> bool:
        """Cells of a sweep share models."""
        named = f"{model.role} {model.model_dump_json()}"
        is_new = named not in self._asked
        self._asked.add(named)
        return is_new
