"""Tracks the budget of one command: what its runs have spent, read from the journals, and what is left."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.config import BudgetConfig
from harness.core.errors import BudgetExhausted, ConfigError
from harness.core.records import OWN_MODELS, Usage
from harness.models.budget import Allowance, Amount, Budget
from harness.runner.evaluating.plan import EvaluationPlan
from harness.statistics.prices import Price, Prices, role_price, usage_usd
from harness.store import IndexDir, RunDir
from harness.store.call_journal import paid_by_runs

_NO_PRICE = "add it to a price table of your own (prices: my-prices.yaml), or limit budget.tokens instead"
_SETTLE_S, _SETTLE_SHARE = 5.0, 0.1
"""No new call starts in the last seconds of `budget.minutes` (at most this share), so that open calls finish."""


@dataclass(frozen=True)
class CostOwner:
    run: RunDir
    models: Mapping[str, Any]
    """Role -> provider and model: generator, embedder and judges."""

    @classmethod
    def of(cls, run: RunDir, models: Mapping[str, Any], plan: EvaluationPlan) -> "CostOwner":
        """`models`: those of the system. Calls of an earlier judge are priced like the judge of `plan`."""
        judges = (plan.judge, plan.embedder)
        played = {judge.role: judge.model_dump(include={"provider", "model"}) for judge in judges}
        return cls(run, {**played, **models})


class BudgetTracker:
    """The budget of one command, checked before each piece of work."""

    def __init__(
        self,
        budget: BudgetConfig,
        prices: Prices,
        results: Path,
        payers: Sequence[CostOwner],
        began: float | None = None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """The time limit counts from `began` (time.monotonic), or from now. `warn` is told of damaged journals."""
        self._budget, self.prices, self._results, self._payers = budget, prices, results, payers
        self._began = time.monotonic() if began is None else began
        self._before = Amount()
        self._is_kept_elsewhere = False
        self._warn, self._warned = warn, set[str]()

    def begin(self, together_with: "BudgetTracker | None" = None) -> None:
        """Start counting the minutes now, or as the other one has."""
        self._began = together_with._began if together_with else time.monotonic()

    @contextmanager
    def paused(self) -> Iterator[None]:
        since = time.monotonic()
        try:
            yield
        finally:
            self._began += time.monotonic() - since

    @classmethod
    def unlimited(cls) -> "BudgetTracker":
        """A budget without limits: it counts nothing and never stops a run."""
        return cls(BudgetConfig(), Prices(()), Path(), ())

    def without_minutes(self) -> "BudgetTracker":
        """A copy without the time limit, for work that is free and ends by itself."""
        budget = self._budget.model_copy(update={"minutes": None})
        return BudgetTracker(budget, self.prices, self._results, self._payers)

    def shared_copy(self) -> "BudgetTracker":
        """A copy that reads the journals once, now: many workers then share one `Budget` of dollars and tokens.
        Its `check` raises if nothing was left now, or when the time is over.
        """
        self.count()
        tracker = copy(self)
        tracker._is_kept_elsewhere = True
        return tracker

    def check_prices(self, models: Mapping[str, Any]) -> None:
        """ConfigError if a limit cannot be enforced: of dollars without a price of each model, of dollars or
        tokens if a pipeline calls models of its own, which are not metered.
        """
        limited = [key for key in ("usd", "tokens") if getattr(self._budget, key) is not None]
        if limited and any(played_by.get("provider") == OWN_MODELS for played_by in models.values()):
            raise ConfigError(
                f"budget.{limited[0]} cannot be enforced: a pipeline calls its own models, which are not metered",
                "limit budget.minutes instead, or let it use the models of the run (answer.lends)",
            )
        if self._budget.usd is None:
            return
        for role, played_by in models.items():
            provider, model = played_by.get("provider"), played_by.get("model")
            if provider != "none" and role_price(self.prices, models, role) is None:
                what = f"budget.usd cannot be enforced: {role} {provider}/{model} has no price"
                raise ConfigError(what, _NO_PRICE)

    def spent(self) -> Amount:
        """What all runs have paid so far, earlier commands included. Dollars are 0 if they are not limited."""
        if self._budget.usd is None and self._budget.tokens is None:
            return Amount()
        shared = (IndexDir(self._results, "any").journal_path, self._results / "judge" / "calls.sqlite")
        paid = [paid_by_runs(path, self._warn_once) for path in shared]
        total = Amount()
        for payer in self._payers:
            own = paid_by_runs(payer.run.journal_path, self._warn_once)
            used = [(role, usage) for (_, role), usage in own.items()]
            for journal in paid:
                used += [(role, usage) for (run, role), usage in journal.items() if run == payer.run.run_id]
            for role, usage in used:
                total += self._amount(payer, role, usage)
        return total

    def _warn_once(self, line: str) -> None:
        if line not in self._warned:
            self._warned.add(line)
            self._warn(line)

    def check(self) -> None:
        """BudgetExhausted if nothing is left."""
        self.check_time()
        self.count()
        if self._budget.usd is not None and self._before.usd >= self._budget.usd:
            raise BudgetExhausted("budget.usd is exhausted")
        if self._budget.tokens is not None and self._before.tokens >= self._budget.tokens:
            raise BudgetExhausted("budget.tokens is exhausted")

    def count(self) -> None:
        """Read the journals; `allowance` and `note` use the result."""
        if not self._is_kept_elsewhere:
            self._before = self.spent()

    def check_time(self) -> None:
        """BudgetExhausted if the time is over."""
        if self.time_is_over:
            raise BudgetExhausted("the time is over")

    @property
    def time_is_over(self) -> bool:
        """Whether no new work may start."""
        until = self.allowance().begin_until
        return until is not None and time.monotonic() >= until

    def seconds_left(self) -> float | None:
        """None without a time limit."""
        until = self.allowance().begin_until
        return None if until is None else until - time.monotonic()

    def allowance(self) -> Allowance:
        """What was left when the journals were last read."""
        budget, before, time_limits = self._budget, self._before, dict[str, float]()
        if budget.minutes is not None:
            end_by = self._began + 60 * budget.minutes
            settle_s = min(_SETTLE_S, _SETTLE_SHARE * 60 * budget.minutes)
            time_limits = {"begin_until": end_by - settle_s, "end_by": end_by}
        return Allowance(
            usd=None if budget.usd is None else max(0.0, budget.usd - before.usd),
            tokens=None if budget.tokens is None else max(0, budget.tokens - before.tokens),
            **time_limits,
        )

    def budget(self, models: Mapping[str, Any]) -> Budget:
        """The budget of calls to these models: what was left when the journals were last read."""
        return Budget(self.allowance(), self.prices_of(models))

    def prices_of(self, models: Mapping[str, Any]) -> dict[str, Price]:
        """Role -> price, for models with a price; empty if dollars are not limited."""
        if self._budget.usd is None:
            return {}
        found = {role: role_price(self.prices, models, role) for role in models}
        return {role: price for role, price in found.items() if price is not None}

    def note(self, since: Amount, usd: float | None = None) -> str:
        """For a progress bar; `since` was spent after the last `check`. Without a limit `usd`, if known."""
        return self._as_text(self._before + since) or (f"${usd:.4f}" if usd else "")

    def report(self) -> str:
        """The spending at the end of a command, read from the journals."""
        return self._as_text(self.spent())

    def flags_for_larger(self, exhausted: BudgetExhausted) -> str:
        """Flags for twice the limits, with room for the refused call; empty if only the time was over."""
        usd, tokens, spent, flags = self._budget.usd, self._budget.tokens, self.spent(), []
        if self.time_is_over:
            return ""
        if usd is not None:
            flags.append(f"--set budget.usd={_rounded_up(max(2 * usd, spent.usd + exhausted.usd))}")
        if tokens is not None:
            flags.append(f"--set budget.tokens={max(2 * tokens, spent.tokens + exhausted.tokens)}")
        return " ".join(flags)

    def _amount(self, payer: CostOwner, role: str, usage: Usage) -> Amount:
        usd = 0.0 if self._budget.usd is None else usage_usd(self.prices, payer.models, {role: usage})
        if usd is None:
            what = f"budget.usd cannot be enforced: {payer.run.run_id} has paid for a {role} that has no price"
            raise ConfigError(what, _NO_PRICE)
        return Amount(usd=usd, tokens=usage.input_tokens + usage.output_tokens)

    def _as_text(self, spent: Amount) -> str:
        budget, parts = self._budget, []
        if budget.usd is not None:
            parts.append(f"${spent.usd:.4f} of ${budget.usd:g}")
        if budget.tokens is not None:
            parts.append(f"{spent.tokens:,} of {budget.tokens:,} tokens")
        if budget.minutes is not None:
            parts.append(f"{(time.monotonic() - self._began) / 60:.2f} of {budget.minutes:g} minutes")
        return ", ".join(parts)


def _rounded_up(usd: float) -> str:
    scale = 10.0 ** (1 - math.floor(math.log10(usd)))
    return f"{math.ceil(usd * scale) / scale:g}"
