"""What the runs of one command have paid of its budget, and what is left. The journals are the truth."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.config import BudgetConfig
from harness.core.errors import BudgetReached, ConfigError
from harness.core.records import OWN_MODELS, Usage
from harness.models.budget import Allowance, Amount
from harness.runner.evaluating.plan import EvaluationPlan
from harness.statistics.prices import Price, Prices, role_price, usage_usd
from harness.store import IndexDir, RunDir
from harness.store.journal import paid_by_runs

_NO_PRICE = "add it to a price table of your own (prices: my-prices.yaml), or limit budget.tokens instead"
_SETTLE_S, _SETTLE_SHARE = 5.0, 0.1
"""The end of the minutes, in which calls under way may end and none is begun: so long, at most this share."""


@dataclass(frozen=True)
class CostOwner:
    """A run that pays, and who plays its roles."""

    run: RunDir
    models: Mapping[str, Any]
    """Role -> provider and model, of its generator and embedder and of those that judge it."""

    @classmethod
    def of(cls, run: RunDir, models: Mapping[str, Any], plan: EvaluationPlan) -> "CostOwner":
        """A run whose system uses `models`. What an earlier judge was paid counts at the price of the plan's."""
        judges = (plan.judge, plan.embedder)
        played = {judge.role: judge.model_dump(include={"provider", "model"}) for judge in judges}
        return cls(run, {**played, **models})


class BudgetTracker:
    """One command's budget: asked before each piece of work, and for what that piece may take."""

    def __init__(
        self,
        budget: BudgetConfig,
        prices: Prices,
        results: Path,
        payers: Sequence[CostOwner],
        began: float | None = None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """The minutes begin at `began` (time.monotonic), or now. `warn` is given a line for each journal in which
        calls are damaged.
        """
        self._budget, self.prices, self._results, self._payers = budget, prices, results, payers
        self._began = time.monotonic() if began is None else began
        self._before = Amount()
        self._is_kept_elsewhere = False
        self._warn, self._warned = warn, set[str]()

    def begin(self) -> None:
        """Count its minutes from now on."""
        self._began = time.monotonic()

    @contextmanager
    def standing(self) -> Iterator[None]:
        """Count none of the time in between."""
        since = time.monotonic()
        try:
            yield
        finally:
            self._began += time.monotonic() - since

    @classmethod
    def unlimited(cls) -> "BudgetTracker":
        """Nothing is counted, nothing is refused."""
        return cls(BudgetConfig(), Prices(()), Path(), ())

    def without_minutes(self) -> "BudgetTracker":
        """The same, where time is not counted: for what is free and ends by itself."""
        budget = self._budget.model_copy(update={"minutes": None})
        return BudgetTracker(budget, self.prices, self._results, self._payers)

    def kept_elsewhere(self) -> "BudgetTracker":
        """The same, counted once: from now on somebody else keeps dollars and tokens, in one `Budget` for many
        workers, and `check` raises where nothing was left or the time is over.
        """
        self.count()
        kept = copy(self)
        kept._is_kept_elsewhere = True
        return kept

    def check_prices(self, models: Mapping[str, Any]) -> None:
        """Raise ConfigError where dollars are limited and a model that may be called has no price; where tokens
        are, and nobody counts those of a pipeline's own models.
        """
        limited = [key for key in ("usd", "tokens") if getattr(self._budget, key) is not None]
        if limited and any(played_by.get("provider") == OWN_MODELS for played_by in models.values()):
            raise ConfigError(
                f"budget.{limited[0]} cannot be kept: a pipeline calls models of its own, which nobody meters",
                "limit budget.minutes instead, or lend it models (answer.lends)",
            )
        if self._budget.usd is None:
            return
        for role, played_by in models.items():
            provider, model = played_by.get("provider"), played_by.get("model")
            if provider != "none" and role_price(self.prices, models, role) is None:
                raise ConfigError(
                    f"budget.usd cannot be kept: {role} {provider}/{model} has no price",
                    _NO_PRICE,
                )

    def spent(self) -> Amount:
        """What all the runs have paid so far, whenever it was; dollars are 0 where they are not limited."""
        if self._budget.usd is None and self._budget.tokens is None:
            return Amount()
        shared = (IndexDir(self._results, "any").journal_path, self._results / "judge" / "calls.sqlite")
        paid = [paid_by_runs(path, self._warn_once) for path in shared]
        total = Amount()
        for payer in self._payers:
            used = [
                (role, usage) for (_, role), usage in paid_by_runs(payer.run.journal_path, self._warn_once).items()
            ]
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
        """Raise BudgetReached where nothing is left."""
        self.check_time()
        self.count()
        if self._budget.usd is not None and self._before.usd >= self._budget.usd:
            raise BudgetReached("nothing is left of budget.usd")
        if self._budget.tokens is not None and self._before.tokens >= self._budget.tokens:
            raise BudgetReached("nothing is left of budget.tokens")

    def count(self) -> None:
        """Look at the journals: `allowance` and `note` go by this."""
        if not self._is_kept_elsewhere:
            self._before = self.spent()

    def check_time(self) -> None:
        """Raise BudgetReached where the minutes are over."""
        if self.time_is_over:
            raise BudgetReached("the time is over")

    @property
    def time_is_over(self) -> bool:
        """Whether nothing more may be begun."""
        until = self.allowance().begin_until
        return until is not None and time.monotonic() >= until

    def allowance(self) -> Allowance:
        """What was left when the journals were last looked at."""
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

    def prices_of(self, models: Mapping[str, Any]) -> dict[str, Price]:
        """Role -> price, of the roles that have one, where dollars are limited."""
        if self._budget.usd is None:
            return {}
        found = {role: role_price(self.prices, models, role) for role in models}
        return {role: price for role, price in found.items() if price is not None}

    def note(self, since: Amount) -> str:
        """For a progress bar: what is spent of what, `since` after the last `check`; empty without a limit."""
        return self._shown(self._before + since)

    def report(self) -> str:
        """For the end: the same by the journals."""
        return self._shown(self.spent())

    def larger(self, reached: BudgetReached) -> str:
        """The flags that go on where the budget stopped: twice as much, and room for the call that did not fit.

        Empty where only the time was over: the next command has all its minutes again.
        """
        usd, tokens, spent, flags = self._budget.usd, self._budget.tokens, self.spent(), []
        if self.time_is_over:
            return ""
        if usd is not None:
            flags.append(f"--set budget.usd={_rounded_up(max(2 * usd, spent.usd + reached.usd))}")
        if tokens is not None:
            flags.append(f"--set budget.tokens={max(2 * tokens, spent.tokens + reached.tokens)}")
        return " ".join(flags)

    def _amount(self, payer: CostOwner, role: str, usage: Usage) -> Amount:
        usd: float | None = 0.0
        if self._budget.usd is not None:
            usd = usage_usd(self.prices, payer.models, {role: usage})
        if usd is None:
            raise ConfigError(
                f"budget.usd cannot be kept: {payer.run.run_id} has paid a {role} that has no price",
                _NO_PRICE,
            )
        return Amount(usd=usd, tokens=usage.input_tokens + usage.output_tokens)

    def _shown(self, spent: Amount) -> str:
        budget, parts = self._budget, []
        if budget.usd is not None:
            parts.append(f"${spent.usd:.4f} of ${budget.usd:g}")
        if budget.tokens is not None:
            parts.append(f"{spent.tokens:,} of {budget.tokens:,} tokens")
        if budget.minutes is not None:
            parts.append(f"{(time.monotonic() - self._began) / 60:.2f} of {budget.minutes:g} minutes")
        return ", ".join(parts)


def _rounded_up(usd: float) -> str:
    """To two digits, upwards."""
    scale = 10.0 ** (1 - math.floor(math.log10(usd)))
    return f"{math.ceil(usd * scale) / scale:g}"
