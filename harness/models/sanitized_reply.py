"""Replies and errors of a server, with keys removed."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import httpx2

from harness.core.records import Usage
from harness.core.sanitize import cleaned, reply_without_keys
from harness.models.reply_parsing import damage_of, parsed, usage_of, whole_body

_READ = ("x-ratelimit-", "retry-after")
"""Prefixes of headers that are read as a number or a date; they are not stored."""


@dataclass(frozen=True)
class SanitizedReply:
    """A whole reply, parsed once."""

    status: int
    headers: Mapping[str, str]
    """Headers about rate limits and retries."""
    content: bytes
    path: str
    """Path of the request."""

    @cached_property
    def _parsed(self) -> Any:
        return parsed(self.content)

    @cached_property
    def damage(self) -> str:
        """The fault of a reply with status 200; empty if it is valid. A reply without text is valid."""
        return damage_of(self._parsed, self.path, self.content)

    @cached_property
    def usage(self) -> Usage:
        """See `harness.models.reply_parsing.read_usage`."""
        return usage_of(self._parsed)


async def sanitize_reply(response: httpx2.Response, path: str) -> SanitizedReply:
    """The whole response to a request for `path`; raises as `whole_body` does."""
    content = reply_without_keys(await whole_body(response))
    headers = {name: value for name, value in response.headers.items() if name.startswith(_READ)}
    return SanitizedReply(response.status_code, headers, content, path)


def without_key(error: Exception) -> Exception:
    """The same error without any key. It has no cause, since that quotes the bytes sent or received."""
    error.args = (cleaned(str(error)),)
    error.__cause__ = error.__context__ = None
    return error
