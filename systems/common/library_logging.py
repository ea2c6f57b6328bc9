"""Libraries that log where nobody asked them to."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def root_logger_as_it_is() -> Iterator[None]:
    """Whatever is imported meanwhile leaves the root logger alone: one library that configures it, and every other
    would log to the terminal.
    """
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def silence(*names: str) -> None:
    """Let these loggers say nothing, whatever goes wrong: who calls the library says it."""
    for name in names:
        logger = logging.getLogger(name)
        logger.setLevel(logging.CRITICAL + 1)
        logger.handlers.clear()
