"""The server of one role: its limits, and the consequences of its refusals."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from harness.config import NO_MODEL, GeneratorConfig, ModelConfig
from harness.core.errors import ModelUnavailable
from harness.core.hashing import digest
from harness.core.proxies import FIX, REFUSED, proxy_of, retry_after_s
from harness.models.providers import provider_of
from harness.models.rate_limits import AdaptiveLimiter
from harness.models.reply_parsing import SanitizedReply, UnreadableReply, read_error

_DECODING = {"temperature", "max_tokens", "seed", "extra"}


def server_digests(models: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Role -> digest of its server's identity; decoding parameters are in each request."""
    return {
        role: digest({key: value for key, value in model.items() if key not in _DECODING})
        for role, model in models.items()
    }


def model_identity(config: ModelConfig) -> dict[str, Any]:
    if config.is_none:
        return {"provider": NO_MODEL}
    named = {"provider": config.provider, "model": config.model}
    decoding: dict[str, Any] = {}
    if isinstance(config, GeneratorConfig):
        decoding = {"temperature": config.temperature, "max_tokens": config.max_tokens, "seed": config.seed}
        own = {"send_as": config.sent_as, "reasoning_tokens": config.reasoning_tokens}
        decoding |= {name: value for name, value in own.items() if value}
    decoding |= {"extra": dict(config.extra)} if config.extra else {}
    return {**named, **decoding, **provider_of(config).identity(config)}


LIMIT = "HTTP 429"
_NOT_RETRIED = frozenset({501, 505, 511})
"""Not implemented, another version of HTTP, a network that wants a login: no later try succeeds. Every other one
from 500 is retried, such as Cloudflare's 520 to 530 and Anthropic's 529.
"""
_RETRIED = frozenset({408, 409, 425, 429, 498, 499})
"""Too early, Groq's full capacity, and a connection that a proxy closed, beside the usual ones."""
_OUT_OF_MONEY = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
Outcome = SanitizedReply | Exception


@dataclass(frozen=True)
class Endpoint:
    config: ModelConfig
    base_url: str
    """Of the server, which may have been started for this role."""
    limiter: AdaptiveLimiter

    @property
    def role(self) -> str:
        return self.config.role

    @property
    def reasoning_tokens(self) -> int:
        """Tokens added to `max_tokens` of a call, below the journal; they count against the budget."""
        return self.config.reasoning_tokens if isinstance(self.config, GeneratorConfig) else 0

    @property
    def fix(self) -> str:
        """What the user can do if it cannot be reached, such as the command that starts the server."""
        return provider_of(self.config).fix

    @property
    def where(self) -> str:
        """`generator at http://...`."""
        return f"{self.role} at {self.base_url}"

    def requested_wait_s(self, reply: Outcome, say: Callable[[str], None]) -> float | None:
        """The wait that the server asks for, limited by the cap; `say` is told. None: nothing."""
        asked = retry_after_s(reply.headers.get("retry-after")) if isinstance(reply, SanitizedReply) else None
        cap = self.config.max_retry_after_s
        if asked is None or asked <= cap:
            return asked
        say(
            f"the {self.where} asks to wait {asked:,.0f} s: asked again after {cap:g} s "
            f"(models.{self.role}.max_retry_after_s)"
        )
        return cap

    def check_throttled_time(self) -> None:
        """Raise an error if the server has refused everything for too long: the run stops, and no query
        is lost.
        """
        longest_s = self.config.max_throttled_s
        if self.limiter.refused_s >= longest_s:
            raise ModelUnavailable(
                f"the {self.where} has refused every request for {longest_s:g} s (HTTP 429)",
                f"run the same command again later, it resumes; models.{self.role}.max_throttled_s waits longer",
            )

    def raise_if_permanent(self, reply: SanitizedReply) -> None:
        """Raise if no other query could succeed either: wrong key, unknown model, no credit left."""
        status = reply.status
        if status not in {401, 402, 403, 404, 429}:
            return
        error = read_error(reply.content)
        if status in {401, 403}:
            proxy = proxy_of(self.base_url)
            fix = f"set a valid key, or check {proxy}, which may have refused" if proxy else "set a valid key"
            raise ModelUnavailable(f"{self.where} refused the key (HTTP {status}: {error.brief})", fix)
        if status == 404:
            raise ModelUnavailable(f"{self.where} has no such model or path (HTTP 404: {error.brief})", self.fix)
        if status == 402 or error.code in _OUT_OF_MONEY:
            raise ModelUnavailable(
                f"{self.where} refused: the quota is used up ({error.brief})", "add credit, then run again"
            )

    def final_error(self, error: Exception) -> Exception:
        """The error to raise if the last try failed: without its server no other query could succeed."""
        if not isinstance(
            error, httpx2.ConnectError | httpx2.ProxyError | httpx2.RemoteProtocolError | httpx2.ReadError
        ):
            return error
        proxy = proxy_of(self.base_url)
        through = f" through {proxy}" if proxy else ""
        if REFUSED in str(error):
            return ModelUnavailable(f"the certificate of the {self.where}{through} is not trusted", FIX)
        reason = str(error) or "it closed the connection"
        if re.search("WRONG_VERSION_NUMBER|RECORD_LAYER_FAILURE", reason):
            reason = f"no TLS at that port: write http:// in {proxy.variable if proxy else 'base_url'}"
        fix = f"{self.fix}, or {proxy.fix}" if proxy else self.fix
        return ModelUnavailable(f"cannot reach the {self.where}{through} ({reason})", fix)


def fault(reply: Outcome) -> str:
    """Why a retry may succeed; empty for an answer or a permanent error."""
    if not isinstance(reply, SanitizedReply):
        if REFUSED in str(reply):
            return ""
        return str(reply) if isinstance(reply, UnreadableReply) else type(reply).__name__
    if reply.status in _RETRIED or (reply.status >= 500 and reply.status not in _NOT_RETRIED):
        return f"HTTP {reply.status}"
    return reply.damage if reply.status == 200 else ""
