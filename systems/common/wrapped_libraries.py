"""What wrapped libraries (nano-graphrag, LightRAG) need: quiet logging, plain fields, guarded model calls."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from harness.core.errors import HarnessError
from harness.extraction.entity_names import one_line
from harness.protocols import ChatModel, Message


@contextmanager
def root_logger_as_it_is() -> Iterator[None]:
    """Protects the root logger during imports: if one library configured it, all would log to the terminal."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def silence(*names: str) -> None:
    """Disable these loggers; errors are reported by the caller."""
    for name in names:
        logger = logging.getLogger(name)
        logger.setLevel(logging.CRITICAL + 1)
        logger.handlers.clear()


SEPARATOR = "<SEP>"
"""Separator of the libraries between text units of a node or edge, and between joined descriptions."""


def plain(text: str) -> str:
    """Without the quotes and separators that a library leaves in names and descriptions."""
    return text.replace(SEPARATOR, " ").strip().strip('"')


def entity_text(name: str, kind: str, description: str) -> str:
    """An entity with its kind and its description, as far as they are known."""
    shown, kind, described = plain(name), plain(kind), plain(description)
    if kind and kind != "UNKNOWN":
        shown = f"{shown} ({kind.lower()})"
    return f"{shown}: {described}" if described else shown


def relation_text(source: str, target: str, description: str) -> str:
    """The statement about two entities, with their names if the description does not contain both."""
    ends, stated = (plain(source), plain(target)), plain(description)
    if all(end.casefold() in stated.casefold() for end in ends):
        return stated
    return f"{' - '.join(ends)}: {stated}"


T = TypeVar("T")

CONCURRENCY = 8
"""Maximum concurrent calls; the limiter of the model role may allow fewer."""


class Guard:
    """Stores failures.

    nano-graphrag's limiter loses a slot with each exception, until every later call waits forever; lightrag drops
    a whole document.
    """

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(CONCURRENCY)
        self._stopped: HarnessError | None = None
        self.first_failure = ""
        """Exception and message of the first call with a failure of its own."""

    async def run(self, call: Callable[[], Awaitable[T]]) -> T | None:
        """The result of `call`; None if it fails, or if an earlier failure makes it pointless."""
        async with self._slots:
            if self._stopped is not None:
                return None
            try:
                return await call()
            except HarnessError as error:
                self._stopped = error
            except Exception as error:
                # Only this call failed; the caller counts it and uses a replacement.
                self.first_failure = self.first_failure or f"{type(error).__name__}: {str(error)[:200]}"
            return None

    def check(self) -> None:
        """Raise the failure after which no call can succeed, if there was one."""
        if self._stopped is not None:
            raise self._stopped


class LibraryReplies:
    """Replies to the prompts with which nano-graphrag and LightRAG extract a graph; subclasses say what is one."""

    def __init__(
        self, chat: ChatModel, guard: Guard, progress: Callable[[int], None] = lambda _done: None
    ) -> None:
        self._chat = chat
        self._guard = guard
        self.progress = progress
        """Called with the number of chunks sent."""
        self._asked: set[str] = set()
        self._failed: set[str] = set()
        self.failed_descriptions = 0
        """Number of descriptions that were too long and could not be shortened: they are empty."""

    @property
    def failed_chunks(self) -> int:
        """Chunks whose reply had no list of records, or failed."""
        return len(self._failed)

    def is_graph(self, reply: str) -> bool:
        """Whether a first reply has a list of records, be it empty."""
        raise NotImplementedError

    async def extract(
        self,
        prompt: str,
        history: Sequence[Mapping[str, str]],
        max_tokens: int,
        system: str = "",
        schema: Any = None,
    ) -> str:
        """The reply to a prompt about a chunk, whose first prompt is unique; empty if that had no graph."""
        first = history[0]["content"] if history else prompt
        if first in self._failed:
            return ""
        turns = [Message("user" if turn["role"] == "user" else "assistant", turn["content"]) for turn in history]
        begin = [Message("system", system)] if system else []
        reply = await self._complete([*begin, *turns, Message("user", prompt)], max_tokens, schema)
        if not history:
            self._asked.add(first)
            self.progress(len(self._asked))
            if not self.is_graph(reply):
                self._failed.add(first)
                return ""
        return reply

    async def summarise(self, prompt: str, max_tokens: int) -> str:
        """The reply to a prompt that joins descriptions."""
        reply = await self._complete([Message("user", prompt)], max_tokens)
        self.failed_descriptions += not reply.strip()
        return reply

    async def _complete(self, messages: Sequence[Message], max_tokens: int, schema: Any = None) -> str:
        reply = await self._guard.run(
            lambda: self._chat.complete(messages, max_tokens=max_tokens, json_schema=schema)
        )
        # Characters invalid in GraphML would fail only when the finished graph is written.
        return "\n".join(one_line(line) for line in (reply or "").split("\n"))
