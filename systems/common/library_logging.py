"""Disables unwanted logging of libraries."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


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
