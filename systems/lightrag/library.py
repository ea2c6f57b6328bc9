"""lightrag-hku 1.5 as this system uses it: offline, quiet, and ignoring any `.env` file."""

import asyncio
import os
import re
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from harness.core.errors import MissingDependency, install
from harness.protocols import Runtime, Vectors
from systems.common.token_estimate import TokenCounter
from systems.common.wrapped_libraries import CONCURRENCY, root_logger_as_it_is, silence


async def pick_nearest(
    *,
    query: str,
    chunks_vdb: Any,
    num_of_chunks: int,
    entity_info: Sequence[Mapping[str, Any]],
    embedding_func: Callable[..., Awaitable[Any]],
    query_embedding: Any = None,
    **_: Any,
) -> list[str]:
    """The chunks of the library's `pick_by_vector_similarity`, best first, ties in corpus order. The library
    orders ties by a set, which differs between processes, and uses the first chunks if the embedder fails.
    """
    chunk_ids = sorted({chunk_id for one in entity_info for chunk_id in one.get("sorted_chunks", ())})
    if not chunk_ids or num_of_chunks <= 0:
        return []
    if query_embedding is None:
        (query_embedding,) = await embedding_func([query], context="query")
    vectors = await chunks_vdb.get_vectors_by_ids(chunk_ids)
    if len(vectors) != len(chunk_ids):
        return []  # The library then ranks by the number of entities that name a chunk.
    near = {chunk_id: _cosine(query_embedding, vectors[chunk_id]) for chunk_id in chunk_ids}
    return sorted(chunk_ids, key=lambda chunk_id: -near[chunk_id])[:num_of_chunks]


def _cosine(left: Any, right: Any) -> float:
    import numpy as np

    lengths = float(np.linalg.norm(left)) * float(np.linalg.norm(right))
    return float(np.dot(left, right)) / lengths if lengths else 0.0


_PACKAGES = ("lightrag", "nano_vectordb", "networkx")
_VERSION = re.compile(r"1\.5\.\d+")
"""Versions with the parts that `load` replaces."""
_FIX = f"{install('system-lightrag')}, or in a clone: scripts/setup dev"
_STORAGES = ("json_kv_impl", "json_doc_status_impl", "nano_vector_db_impl", "networkx_impl")
_MODULES = ("lightrag", "llm_roles", "operate", "pipeline", "utils", *(f"kg.{name}" for name in _STORAGES))


def require() -> None:
    """Raise MissingDependency if a package is not installed; imports nothing."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing or find_spec("lightrag.operate") is None:
        # There is another package called lightrag.
        named = ", ".join(missing) or "lightrag-hku (another package called lightrag is installed)"
        raise MissingDependency(f"lightrag needs packages that are not installed: {named}", _FIX)
    installed = version("lightrag-hku")
    if not _VERSION.fullmatch(installed):
        raise MissingDependency(f"lightrag needs lightrag-hku 1.5, but {installed} is installed", _FIX)


@cache
def load() -> Any:
    """The package's module `lightrag.lightrag`, changed where it has no setting for what a benchmark needs.

    The changes are to its own modules alone:
    - No setting comes from the environment or from a file `.env` of the working directory: they would change
      results, and stand in no run id.
    - Its queues are left out. They call a model from tasks of their own, in which every call would be charged to
      the query that came first; limits are the harness's.
    - Its clock stands still: descriptions are ordered by when they were extracted, and the prompts that join them
      would be others in a build that resumes.
    - Passages as near as each other come in corpus order, see `picking`.
    """
    require()
    with root_logger_as_it_is(), _no_settings_from_outside():
        modules = [import_module(f"lightrag.{name}") for name in _MODULES]
    for name in [name for name in sys.modules if name.partition(".")[0] == "lightrag"]:
        if getattr(sys.modules[name], "os", None) is os:
            vars(sys.modules[name])["os"] = _Os
    named: dict[str, Any] = dict(zip(_MODULES, modules, strict=True))
    for name in ("lightrag", "llm_roles"):
        _replace(named[name], "priority_limit_async_func_call", _without_queue)
    for name in ("operate", "utils"):
        _replace(named[name], "time", SimpleNamespace(**{**vars(time), "time": lambda: 0.0}))
    _replace(named["operate"], "pick_by_vector_similarity", pick_nearest)
    silence("lightrag", "nano-vectordb")
    return named["lightrag"]


def _replace(module: Any, name: str, by: object) -> None:
    """Replace an existing attribute; raises an error if it is missing, because another version would call
    something else.
    """
    if not hasattr(module, name):
        raise MissingDependency(f"this lightrag-hku has no {module.__name__}.{name}", _FIX)
    setattr(module, name, by)


async def _refuse(*_: object, **__: object) -> Any:
    raise RuntimeError("LightRAG requested a model that this system does not provide")


def new(
    folder: Path,
    dimension: int,
    *,
    embed: Callable[..., Awaitable[Vectors]],
    extract: Callable[..., Awaitable[str]] = _refuse,
    keywords: Callable[..., Awaitable[str]] = _refuse,
    chunks: Callable[..., Any] = _refuse,
    **settings: Any,
) -> Any:
    """A LightRAG over the files in `folder`, with vectors of that dimension; one at a time per process.

    These functions replace its own models: embed(texts, context="query" or "document"); extract(prompt,
    system_prompt=, history_messages=) for entities and relations, or a summary of descriptions; keywords(prompt)
    for a JSON object; chunks(tokenizer, text, ...) for the chunks of a document. It needs functions instead of
    bound methods, because it deep-copies its settings.
    """
    forget()
    module, utilities = load(), import_module("lightrag.utils")
    roles = {"extract": extract, "keyword": keywords}
    return module.LightRAG(
        working_dir=str(folder),
        tokenizer=utilities.Tokenizer("estimated", TokenCounter()),
        chunking_func=chunks,
        embedding_func=utilities.EmbeddingFunc(dimension, embed, supports_asymmetric=True),
        llm_model_func=_refuse,
        role_llm_configs={role: module.RoleLLMConfig(func=called) for role, called in roles.items()},
        llm_model_max_async=CONCURRENCY,
        # Concurrent documents would be merged in the order in which they end.
        max_parallel_insert=1,
        # The harness's journal is the cache and counts calls.
        enable_llm_cache=False,
        enable_llm_cache_for_entity_extract=False,
        **settings,
    )


def too_short() -> type[Exception]:
    """The error for a question that it does not search."""
    load()
    error: type[Exception] = import_module("lightrag.query_validation").QueryValidationError
    return error


def read_json(reply: str) -> dict[str, Any]:
    """The content of a JSON reply as the library reads it, even truncated or broken; empty if there is none."""
    load()
    read: dict[str, Any] = import_module("lightrag.utils").tolerant_load_json_dict(reply)
    return read


def forget() -> None:
    """Reset its process-wide state, so that another index can be opened."""
    if "lightrag.kg.shared_storage" in sys.modules:
        sys.modules["lightrag.kg.shared_storage"].finalize_share_data()


def _without_queue(*_limits: object, **_named: object) -> Callable[[Callable[..., Awaitable[Any]]], Any]:
    def decorate(called: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def call(*given: Any, **named: Any) -> Any:
            return await called(*given, **{key: one for key, one in named.items() if not key.startswith("_")})

        return call

    return decorate


def _unset(_name: str, default: Any = None) -> Any:
    return default


_Os = SimpleNamespace(**{**vars(os), "getenv": _unset, "environ": dict[str, str]()})
"""The module os without environment variables."""


@contextmanager
def _no_settings_from_outside() -> Iterator[None]:
    """Isolate its import, which reads `.env` files and variables for its defaults."""
    dotenv, system = import_module("dotenv"), vars(os)
    reading, getting = dotenv.load_dotenv, os.getenv

    def getenv(name: str, default: Any = None) -> Any:
        asks = str(sys._getframe(1).f_globals.get("__name__", ""))
        return default if asks.partition(".")[0] == "lightrag" else getting(name, default)

    vars(dotenv)["load_dotenv"], system["getenv"] = (lambda *_, **__: False), getenv
    try:
        yield
    finally:
        vars(dotenv)["load_dotenv"], system["getenv"] = reading, getting


class Embedding:
    """Embeds texts and keeps the first failure, because the library replaces the exception."""

    def __init__(self, runtime: Runtime, dimension: int = 0) -> None:
        self._runtime = runtime
        self._failure: Exception | None = None
        self._measured: dict[str, Vectors] = {}
        self.dimension = dimension
        """Dimension of the vectors; 0 until it is measured."""

    async def measure(self, text: str) -> None:
        """Find the dimension, which the library needs first, with a text that it will embed anyway."""
        (vector,) = await self._runtime.embedder.embed_documents([text])
        self._measured = {text: vector}
        self.dimension = len(vector)

    async def of_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimension); raises the embedder's errors."""
        import numpy as np

        missing = [text for text in texts if text not in self._measured]
        try:
            found = iter(await self._runtime.embedder.embed_documents(missing) if missing else ())
        except Exception as error:
            self._failure = self._failure or error
            raise
        return np.array([self._measured[text] if text in self._measured else next(found) for text in texts])

    async def of_query(self, texts: Sequence[str]) -> Vectors:
        """The same for a question and its keywords, which the library embeds in one call."""
        import numpy as np

        with self._runtime.stage("embed_query"):
            return np.array(await asyncio.gather(*map(self._runtime.embedder.embed_query, texts)))

    def check(self) -> None:
        if self._failure is not None:
            raise self._failure
