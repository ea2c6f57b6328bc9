"""Adapts requests to a server, below the journal. Parameters that a model refuses are learnt once and remembered.

The journal and all ids use the original request, so a resumed run finds its calls after parameters were
learnt.
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

import httpx2

from harness.config.schema import GeneratorConfig, Sendable
from harness.core.errors import ModelUnavailable
from harness.models.reply_parsing import read_error, received
from harness.store import Dialect, Dialects

REFUSING = frozenset({400, 422})
"""Status codes of a rejected parameter."""
_CODES = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter"})
_REFUSED = re.compile(
    r"(?:n't|not) support|unsupported|unrecogni[sz]ed|extra_forbidden|extraneous"
    r"|extra inputs|not permitted|not allowed|deprecated|cannot find field|unexpected keyword|unexpected field"
    r"|unknown (?:name|parameter|field|argument)|only the default|may only be set",
    re.IGNORECASE,
)
_AS_RENAMED = {"max_tokens": "max_completion_tokens"}
"""The limit on the reply's length is never left out."""


def refused_parameter(content: bytes, sent: Iterable[str]) -> tuple[str, str | None] | None:
    """(rejected parameter of `sent`, its new name, or None to omit it). None: the error has another reason, such
    as a value that is too large.
    """
    message, param, code = read_error(content)
    for name in sent:
        if not (param == name and code in _CODES) and not _is_named(name, param, message):
            continue
        renamed = _AS_RENAMED.get(name)
        if name in _AS_RENAMED and f"{renamed}" not in message and code not in _CODES - {"unsupported_value"}:
            return None
        return name, renamed
    return None


def _is_named(name: str, param: str, message: str) -> bool:
    """Whether a sentence about a rejected parameter is about this one."""
    if param and param != name:
        return False
    if "invalid schema" in message.lower():
        return False
    # An offered alternative is not what is refused, and if two parameters exclude each other the user must choose.
    about = re.split(r"\buse\b|\binstead\b", message, maxsplit=1, flags=re.IGNORECASE)[0]
    return bool(re.search(rf"(?<![\w.]){name}(?!\w)", about) and _REFUSED.search(about))


_SENDABLE: tuple[str, ...] = get_args(Sendable)
_OF_A_VALUE = frozenset({"temperature"})
"""May be rejected at one value, such as 0, and accepted at another."""
_DECODES = frozenset({"temperature", "seed"})
"""Parameters that must not be sent at first and left out later in a run."""


@dataclass
class ModelDialect:
    """How one role's model is called: from the config, and from what was learnt about its server."""

    config: GeneratorConfig
    server: str
    """Its key in `dialects`."""
    dialects: Dialects
    of_run: Dialect
    """The dialect at the start of the run, which applies to all of its calls."""
    say: Callable[[str], None]
    noted: Callable[[Dialect], None]
    """Called with changes to the requests of the model: those already known, and every new one."""
    known: Dialect = field(init=False)
    _trying: Dialect = field(default_factory=Dialect)
    """A change suggested by a refusal, until the model accepts it."""

    def __post_init__(self) -> None:
        self.look()
        if self.known.sent_as:
            self.noted(self.known)

    def look(self) -> None:
        """Load what other processes have learnt."""
        of_config = Dialect(sent_as=self.config.sent_as)
        self.known = of_config.merged_over(self.of_run).merged_over(self.dialects.of(self.server))

    def adapted(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The request with all known changes."""
        wanted, sent_as = dict(request), self.known.merged_over(self._trying).sent_as
        if "max_tokens" in request:
            wanted["max_tokens"] += self.config.reasoning_tokens  # Under whatever name it is sent.
        for name in filter(request.__contains__, dict.fromkeys((*_SENDABLE, *self.config.sent_as))):
            found = [known for known in (name, _token(name, request[name])) if known in sent_as]
            if found:
                value, own = wanted.pop(name), sent_as[found[0]]
                wanted |= {} if own is None else {own: value}
        return wanted

    def unknown(self, request: Mapping[str, Any]) -> list[str]:
        """Parameters of the request that the model was not yet seen to accept."""
        tokens = {name: _token(name, request[name]) for name in _SENDABLE if name in request}
        return [token for name, token in tokens.items() if not (self.known.knows(token) or self.known.knows(name))]

    def suggests(self, content: bytes, asked: Mapping[str, Any], sent: Mapping[str, Any]) -> bool:
        """Whether a refusal of `sent` suggests another request. Raises ModelUnavailable if it comes too late."""
        found = refused_parameter(content, [name for name in _SENDABLE if name in asked and name in sent])
        if found is None:
            # Another call may have learnt it meanwhile.
            return self.adapted(asked) != sent
        name, renamed = found
        token = _token(name, asked[name])
        if name in _DECODES and token in self.known.taken:
            raise ModelUnavailable(
                f"the {self.config.role} ({self.server}) refuses {token} now, not before: a run has one decoding",
                f"start a new run without it: --set models.{self.config.role}.{name}=null",
            )
        self._trying = self._trying.sending(token, renamed)
        return True

    def took(self, asked: Mapping[str, Any]) -> None:
        """The model has accepted the request as sent: the suggested change is kept."""
        new, self._trying = self._trying.sent_as, Dialect()
        taken = [token for token in self.unknown(asked) if token not in new]
        if not new and not taken:
            return

        def change(dialect: Dialect) -> Dialect:
            return Dialect(sent_as={**dialect.sent_as, **new}, taken=dialect.taken).taking(taken)

        self.dialects.learn(self.server, change)
        self.look()
        for token, name in new.items():
            instead = f"it is sent as {name}" if name else "it is left out, and the report says so"
            self.say(f"the {self.config.role} ({self.server}) refuses {token}: {instead}")
        if new:
            self.noted(self.known)

    def discard(self) -> None:
        self._trying = Dialect()


class AdaptingTransport(httpx2.AsyncBaseTransport):
    """Sends each request through `inner` in the form that the model accepts. Until it is known whether a parameter
    is accepted, one call finds out and the others wait, so that it is refused only once.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport, spoken: ModelDialect) -> None:
        self._inner, self._spoken, self._finding_out = inner, spoken, asyncio.Lock()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        asked = json.loads(await request.aread())
        if not self._spoken.unknown(asked):
            return await self._ask(request, asked)
        async with self._finding_out:
            self._spoken.look()
            if self._spoken.unknown(asked):
                return await self._ask(request, asked)
        return await self._ask(request, asked)

    async def _ask(self, request: httpx2.Request, asked: Mapping[str, Any]) -> httpx2.Response:
        while True:
            wanted = self._spoken.adapted(asked)
            sent = request if wanted == asked else with_body(request, wanted)
            response = await self._inner.handle_async_request(sent)
            if response.status_code in REFUSING:
                response = await received(response, request)
                if self._spoken.suggests(response.content, asked, wanted):
                    continue
                self._spoken.discard()
            if response.status_code == 200:
                self._spoken.took(asked)
            return response

    async def aclose(self) -> None:
        await self._inner.aclose()


def with_body(request: httpx2.Request, body: Mapping[str, Any]) -> httpx2.Request:
    headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"content-length"]
    return httpx2.Request(request.method, request.url, headers=headers, json=body, extensions=request.extensions)


def _token(name: str, value: Any) -> str:
    return f"{name}={json.dumps(value)}" if name in _OF_A_VALUE else name
