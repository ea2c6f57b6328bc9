"""nano-graphrag 0.0.8.2 as this system uses it: offline, quiet, imported when needed (2.5 s and more)."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from harness.core.errors import MissingDependency, install
from systems.common.token_estimate import TokenCounter
from systems.common.wrapped_libraries import root_logger_as_it_is, silence

# Packages that nano_graphrag imports, and the Leiden algorithm.
_PACKAGES = (
    "nano_graphrag",
    "graspologic_native",
    "nano_vectordb",
    "neo4j",
    "networkx",
    "openai",
    "tenacity",
    "tiktoken",
    "xxhash",
)
_FIX = f"run `make setup`, or: {install('system-community')} and then pip install --no-deps nano-graphrag==0.0.8.2"


def require() -> None:
    """Raise MissingDependency if a package is not installed; imports nothing."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise MissingDependency(f"community needs packages that are not installed: {', '.join(missing)}", _FIX)


@cache
def load() -> Any:
    """The package nano_graphrag, patched if it has no setting that a benchmark needs.

    It counts tokens with tiktoken, whose encodings must be downloaded, and prints its progress to standard output.
    The patches apply only to its own modules.
    """
    require()
    with root_logger_as_it_is(), _without_hnswlib():
        package = import_module("nano_graphrag")
    its_utilities: Any = import_module("nano_graphrag._utils")
    its_utilities.ENCODER = TokenCounter()
    its_operations: Any = import_module("nano_graphrag._op")
    its_operations.tiktoken = _Tiktoken
    its_operations.print = _say_nothing
    its_operations.set = _OrderedSet
    silence("nano-graphrag", "nano-vectordb")
    return package


@contextmanager
def _without_hnswlib() -> Iterator[None]:
    """A stub for a package that one of its stores imports and that we do not use: it has no wheel and would have
    to be compiled.
    """
    if find_spec("hnswlib") is not None:
        yield
        return
    sys.modules["hnswlib"] = ModuleType("hnswlib")
    try:
        yield
    finally:
        del sys.modules["hnswlib"]


def operations() -> Any:
    """The module of nano-graphrag's operations: extraction, reports, search."""
    load()
    return import_module("nano_graphrag._op")


def utilities() -> Any:
    load()
    return import_module("nano_graphrag._utils")


def storages() -> Any:
    """`systems.community.storages`, whose classes extend the package's."""
    load()
    return import_module("systems.community.storages")


class _Tiktoken:
    """The part of the module tiktoken that nano-graphrag uses: it encodes every document before it calls
    `chunk_func`.
    """

    @staticmethod
    def encoding_for_model(_name: str) -> "type[_Tiktoken]":
        return _Tiktoken

    @staticmethod
    def encode_batch(texts: Sequence[str], **_options: Any) -> list[list[str]]:
        # Our chunk_func returns its own chunks: encoding a corpus would use memory that is then measured.
        return [[] for _ in texts]


class _OrderedSet(dict[Any, None]):
    """A set in the order of insertion: the library breaks ties by the order of its sets, which for texts differs
    between processes.
    """

    def __init__(self, items: Iterable[Any] = ()) -> None:
        super().__init__(dict.fromkeys(items))

    def update(self, items: Iterable[Any]) -> None:  # type: ignore[override]
        super().update(dict.fromkeys(items))


def _say_nothing(*_words: object, **_options: object) -> None:
    pass
