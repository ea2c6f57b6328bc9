"""Errors of model calls, carried to the process that asked: by name and text, never pickled."""

import builtins
from typing import Self

import httpx2
from pydantic import BaseModel, ConfigDict

from harness.core import errors
from harness.core.errors import BudgetExhausted, HarnessError
from harness.models.reply_parsing import UnreadableReply

_PLAIN = ("TypeError", "ValueError", "RuntimeError", "TimeoutError")


class RemoteCallError(BaseModel):
    """An exception as a value."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """Name of its class."""
    what: str
    fix: str = ""
    usd: float = 0.0
    tokens: int = 0
    """For `BudgetExhausted`."""

    @classmethod
    def of(cls, error: BaseException) -> Self:
        """From an exception raised here."""
        name = type(error).__name__
        if isinstance(error, BudgetExhausted):
            return cls(name=name, what=error.what, usd=error.usd, tokens=error.tokens)
        if isinstance(error, HarnessError):
            return cls(name=name, what=error.what, fix=error.fix)
        return cls(name=name, what=str(error))

    def as_raised(self, request: httpx2.Request) -> Exception:
        """The exception to raise there: one of our classes, of the HTTP library's or a builtin, otherwise a
        RuntimeError that names it.
        """
        if self.name == BudgetExhausted.__name__:
            return BudgetExhausted(self.what, usd=self.usd, tokens=self.tokens)
        if self.name == UnreadableReply.__name__:
            return UnreadableReply(self.what)
        if self.name in _PLAIN:
            plain: type[Exception] = getattr(builtins, self.name)
            return plain(self.what)
        ours, http = getattr(errors, self.name, None), getattr(httpx2, self.name, None)
        if isinstance(ours, type) and issubclass(ours, HarnessError):
            return ours(self.what, self.fix)
        if isinstance(http, type) and issubclass(http, httpx2.TransportError):
            return http(self.what, request=request)
        return RuntimeError(f"{self.name}: {self.what}")
