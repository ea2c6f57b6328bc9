"""The budget: every model call is reserved before it is made, so that no limit is exceeded.

A reservation is an upper bound. Tokenisers of language models use at least one byte per token, so the bytes of the
request bound its input; the bound grows for a server that was seen to count more (such as a system prompt of its
own). `max_tokens` bounds the output. After the call the reservation is replaced by what the server counted.
An average of earlier texts would be tighter, but not a bound: the next text may have more tokens per byte.
"""

import asyncio
import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol

from harness.core.errors import BudgetExhausted, HarnessError
from harness.core.records import Record, Usage
from harness.store import Journal

_MARGIN = 1.25
"""Factor on the densest request seen, if it was above a token per byte."""

_TIME = "the time is over"


class ModelPrice(Protocol):
    def usd(self, usage: Usage) -> float: ...


RolePrices = Mapping[str, ModelPrice]
"""Role -> price, of the models that have one."""


class Amount(Record):
    usd: float = 0.0
    tokens: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(usd=self.usd + other.usd, tokens=self.tokens + other.tokens)


class Allowance(Record):
    """The rest of a budget; None: no limit."""

    usd: float | None = None
    tokens: int | None = None
    begin_until: float | None = None
    """No call starts later than this `time.monotonic`, which is the same clock in all processes of a machine."""
    end_by: float | None = None
    """A worker that is still running then is killed; calls that started in time had until then to finish."""


@dataclass(frozen=True)
class Call:
    role: str
    path: str
    request: Mapping[str, Any]
    n_bytes: int
    reasoning_tokens: int = 0
    """Output tokens beyond `max_tokens` for reasoning."""

    @property
    def model(self) -> str:
        return str(self.request.get("model", ""))


class Budget:
    """Admits a call if its upper bound fits beside what was spent and what is running.

    A call that would fit once others have ended waits for them, first come, first served. One that can never fit
    closes the budget: running calls end and are kept, no other is admitted, and waiting ones raise
    `BudgetExhausted`. For use within one event loop.
    """

    def __init__(self, allowance: Allowance | None = None, prices: RolePrices | None = None) -> None:
        """`prices` is used only if dollars are limited."""
        self._left = allowance or Allowance()
        self._prices = prices or {}
        until = self._left.begin_until
        self._begin_until = math.inf if until is None else until
        self._density: dict[str, float] = {}
        self._under_way: dict[object, Amount] = {}
        self._waiting: deque[object] = deque()
        self._changed = asyncio.Event()
        self._closed_by = ""
        self._needed = Amount()
        self.spent = Amount()
        """Spent by finished calls. Interrupted or uncounted calls count with their upper bound."""
        self.n_refused = 0
        self.refusal: BudgetExhausted | None = None

    def renew(self, allowance: Allowance) -> None:
        """Continue with another allowance, if others spend from the same budget; no call may be running."""
        self._left, self.spent = allowance, Amount()

    @property
    def limits_calls(self) -> bool:
        return self._left.usd is not None or self._left.tokens is not None

    def hold(self, call: Call, journal: Journal, prices: RolePrices | None = None) -> "BudgetReservation":
        """The reservation for each try of this call; `prices`: others than the budget's own."""
        return BudgetReservation(self, call, journal, self._prices if prices is None else prices)

    @property
    def time_is_over(self) -> bool:
        """Whether the time is over. May be called from other threads; closes nothing."""
        return monotonic() >= self._begin_until

    def check_time(self) -> None:
        if self.time_is_over:
            self._close(_TIME)
            raise self._refuse()

    def at_most(self, call: Call) -> Usage:
        """The largest possible usage of one try of this call. Raises HarnessError if its output is unbounded."""
        output = 0
        if call.path != "embeddings":
            most = call.request.get("max_completion_tokens") or call.request.get("max_tokens")
            if not most:
                raise HarnessError(
                    f"a {call.role} call sets no max_tokens, so nothing bounds what it may cost",
                    "set max_tokens, or run without budget.usd and budget.tokens",
                )
            output = (int(most) + call.reasoning_tokens) * int(call.request.get("n") or 1)
        density = max(1.0, _MARGIN * self._density.get(call.role, 0.0))
        return Usage(calls=1, input_tokens=math.ceil(call.n_bytes * density), output_tokens=output)

    def amount(self, role: str, usage: Usage, prices: RolePrices) -> Amount:
        """The cost of a usage in the units of the budget."""
        usd = 0.0
        if self._left.usd is not None:
            if role not in prices:
                raise HarnessError(f"the {role} has no price", "add it to configs/prices.yaml")
            usd = prices[role].usd(usage)
        return Amount(usd=usd, tokens=usage.input_tokens + usage.output_tokens)

    async def admit(self, holder: object, role: str, amount: Amount) -> None:
        """Wait until `amount` fits and reserve it for `holder`; raises BudgetExhausted if it never will."""
        self._waiting.append(holder)
        try:
            while not self._lets_through(holder, role, amount):
                if self._closed_by and not self._under_way:
                    raise self._refuse()
                await self._changed.wait()
            self._under_way[holder] = amount
        except asyncio.CancelledError:
            # If a time limit ends while a call waits here, the budget is the cause, not the query.
            self._close(f"the next {role} call did not fit the budget in time", amount)
            self._refuse()
            raise
        finally:
            self._waiting.remove(holder)
            self._wake()

    def end(self, holder: object, spent: Amount) -> None:
        """The call of `holder` has ended and cost `spent`."""
        if self._under_way.pop(holder, None) is not None:
            self.spent += spent
            self._wake()

    def learn(self, call: Call, usage: Usage) -> None:
        """Update the tokens per byte of this role's server."""
        seen = usage.input_tokens / max(1, call.n_bytes)
        if seen > max(1.0 / _MARGIN, self._density.get(call.role, 0.0)):
            self._density[call.role] = seen

    def _lets_through(self, holder: object, role: str, amount: Amount) -> bool:
        if self._closed_by or self._waiting[0] is not holder:
            return False
        if self.time_is_over:
            self._close(_TIME)
            return False
        if not self._fits(amount):
            usd = "" if self._left.usd is None else f" (${amount.usd:.2g})"
            self._close(f"the next {role} call may take up to {amount.tokens:,} tokens{usd}", amount)
            return False
        return self._fits(amount, *self._under_way.values())

    def _fits(self, *more: Amount) -> bool:
        usd, tokens, spent = self._left.usd, self._left.tokens, self.spent
        if usd is not None and spent.usd + sum(one.usd for one in more) > usd:
            return False
        return tokens is None or spent.tokens + sum(one.tokens for one in more) <= tokens

    def _refuse(self) -> BudgetExhausted:
        self.n_refused += 1
        self.refusal = BudgetExhausted(self._closed_by, usd=self._needed.usd, tokens=self._needed.tokens)
        return self.refusal

    def _close(self, reason: str, needed: Amount | None = None) -> None:
        if not self._closed_by:
            self._closed_by, self._needed = reason, needed or Amount()
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class BudgetReservation:
    """The reservation of one call, renewed for each try, because an interrupted try may have been paid.

    At the end of the `with` block, an open reservation (after an exception or an unreadable body) counts in
    full.
    """

    def __init__(self, budget: Budget, call: Call, journal: Journal, prices: RolePrices) -> None:
        self._budget, self.call, self._journal, self._prices = budget, call, journal, prices
        self._amount = Amount()
        self.note: int | None = None
        """The reservation's id in the journal, if there is one."""

    async def take(self) -> None:
        budget = self._budget
        at_most = budget.at_most(self.call) if budget.limits_calls else Usage()
        self._amount = budget.amount(self.call.role, at_most, self._prices)
        await budget.admit(self, self.call.role, self._amount)
        if budget.limits_calls:
            try:
                self.note = self._journal.reserve(self.call.role, at_most)
            except BaseException:
                budget.end(self, Amount())
                raise

    def release(self) -> None:
        """Release it: the server was not reached, or refused the call."""
        if self.note is not None:
            self._journal.cancel(self.note)
        self._end(Amount())

    def paid(self, usage: Usage) -> None:
        """The server answered and counted `usage`; if it did not count, the upper bound remains."""
        if usage.unmetered_calls:
            self.charge_upper_bound()
            return
        self._budget.learn(self.call, usage)
        self._end(self._budget.amount(self.call.role, usage, self._prices))

    def charge_upper_bound(self) -> None:
        self._end(self._amount)

    def _end(self, spent: Amount) -> None:
        self.note = None
        self._budget.end(self, spent)

    def __enter__(self) -> "BudgetReservation":
        return self

    def __exit__(self, *_: object) -> None:
        self.charge_upper_bound()
