"""An offline page: one file, whose policy allows only its own style and script."""

import base64
import hashlib
import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from harness.core.errors import ConfigError
from harness.store.atomic_files import reason_of

_FRAME = Path(__file__).parent / "assets"
LONGEST_BODY = 1 << 20

Body = TypeVar("Body", bound=BaseModel)
Get = Callable[[Mapping[str, str]], object]
"""Parameters of a request -> JSON reply. Raises HarnessError if there is no such thing."""
Post = Callable[[bytes], object]
"""JSON body -> reply. Raises HarnessError if it is rejected, and nothing was changed."""


@dataclass(frozen=True)
class LocalPage:
    title: str
    body: str
    """Our own markup; foreign texts are fetched by the script and inserted as text."""
    style: str
    script: str
    gets: Mapping[str, Get] = field(default_factory=dict)
    posts: Mapping[str, Post] = field(default_factory=dict)
    longest_body: int = LONGEST_BODY

    @cached_property
    def content(self) -> bytes:
        page = (_FRAME / "frame.html").read_text("utf-8")
        parts = {"TITLE": html.escape(self.title), "STYLE": self.style, "BODY": self.body, "SCRIPT": self.script}
        for name, part in parts.items():
            page = page.replace(f"<!--{name}-->", part)
        return page.encode()

    @property
    def policy(self) -> str:
        """Its Content-Security-Policy: only this style and script, and requests to the server itself."""
        return (
            f"default-src 'none'; style-src '{_hash(self.style)}'; script-src '{_hash(self.script)}'; "
            "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )


def framed(
    title: str,
    assets: Path,
    name: str,
    gets: Mapping[str, Get],
    posts: Mapping[str, Post],
    longest_body: int = LONGEST_BODY,
) -> LocalPage:
    """The page of `name`.html, .css and .js in `assets`, in the frame of all pages: its style, and its script
    functions `ask`, `at`, `make`, `run` and `done` (frame.js).
    """
    body, style, script = ((assets / f"{name}.{kind}").read_text("utf-8") for kind in ("html", "css", "js"))
    shared_style, shared_script = ((_FRAME / f"frame.{kind}").read_text("utf-8") for kind in ("css", "js"))
    return LocalPage(title, body, shared_style + style, shared_script + script, gets, posts, longest_body)


def parsed_body(kind: type[Body], body: bytes) -> Body:
    """What the script sent. ConfigError if it is not of this kind."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        raise ConfigError(reason_of(error)) from error


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
