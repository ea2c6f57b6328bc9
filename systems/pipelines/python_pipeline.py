"""A Python pipeline of any kind: found, built, opened and asked in the same way."""

from __future__ import annotations

import inspect
import sys
import traceback
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from harness.core.errors import ConfigError, HarnessError
from harness.core.records import Document, IndexStats, Query
from harness.protocols import ModelProxy, Runtime, SystemSpec
from systems.pipelines.base import OWN_INDEX, OWN_WORDS, UNLENT, PipelineSystem, pipeline_family
from systems.pipelines.isolated_calls import Caller
from systems.pipelines.params import BuildParams, CodeParams
from systems.pipelines.replies import PipelineReply
from systems.pipelines.target_lookup import Target, find_target, search_path

FACTORY = {"documents", "folder", "base_url", "api_key", "model", "embedding_model", "answer_style"}
"""Parameters that a factory may have, by name."""


class CodePipeline(PipelineSystem):
    """What differs between libraries are four methods."""

    wants: ClassVar[str]
    """What the target should be, in words."""

    def __init__(self, target: Target, index: BuildParams, answer: CodeParams, runtime: Runtime) -> None:
        super().__init__(runtime)
        self._target, self._build_params, self._params = target, index, answer
        self._caller = Caller()
        self._lent: ModelProxy | None = None
        self._pipeline: Any = None
        self._documents_path = runtime.index_dir / "documents.jsonl"

    @abstractmethod
    def is_pipeline(self, found: Any) -> bool:
        """Whether the target answers questions itself; otherwise it is a factory."""

    @abstractmethod
    def as_documents(self, corpus: Sequence[Document]) -> Sequence[Any]:
        """The documents as its library has them."""

    @abstractmethod
    def asking(self, pipeline: Any, question: str, offered: Mapping[str, Any]) -> Callable[[], Any]:
        """A function that asks it, called in a thread; `offered`: optional parameters by name."""

    @abstractmethod
    def reply(self, said: Any) -> PipelineReply:
        """Its reply."""

    async def build(self, corpus: Sequence[Document]) -> IndexStats:
        self._lent = await self._runtime.lend() if self._build_params.lends else None
        found = await self._found()
        if self.is_pipeline(found) or "documents" not in parameters(found):
            return IndexStats(documents=0, is_elsewhere=True, notes=(OWN_INDEX,))
        with self._documents_path.open("w", encoding="utf-8") as file:
            file.writelines(f"{document.model_dump_json()}\n" for document in corpus)
        with self._runtime.stage("build"):
            await self._made(found, corpus)
        return IndexStats(documents=len(corpus))

    async def open(self) -> None:
        """Import it; call the factory, if it is one."""
        self._lent = await self._runtime.lend() if self._params.lends else None
        found = await self._found()
        if self.is_pipeline(found):
            self._pipeline = found
            return
        corpus: Sequence[Document] = ()
        if self._documents_path.exists():
            with self._documents_path.open(encoding="utf-8") as file:
                corpus = [Document.model_validate_json(line) for line in file]
        self._pipeline = await self._made(found, corpus)

    async def ask(self, query: Query) -> PipelineReply:
        offered = {
            **self._offered(),
            "query_id": query.query_id,
            "retrieve_only": self._runtime.retrieves_only,
            "base_url": self._runtime.lent_url() if self._lent else None,
        }
        return self.reply(await self._caller.call(self.asking(self._pipeline, query.text, offered)))

    async def _found(self) -> Any:
        """The target, imported."""
        sys.path[:] = search_path()
        try:
            module = await self._caller.call(partial(import_module, self._target.module))
        except HarnessError:
            raise
        except Exception as error:
            traceback.print_exception(error)
            what = f"{self._target.module} cannot be imported ({type(error).__name__}: {error})"
            raise ConfigError(what, "correct it; its traceback is in worker.log") from error
        try:
            found = getattr(module, self._target.name)
        except AttributeError as error:
            raise ConfigError(f"{self._target.module} has no '{self._target.name}'") from error
        if not self.is_pipeline(found) and not callable(found):
            raise ConfigError(f"{self._target.as_text} is a {type(found).__name__}", f"name {self.wants}")
        return found

    async def _made(self, factory: Any, corpus: Sequence[Document]) -> Any:
        folder = self._runtime.index_dir / "pipeline"
        folder.mkdir(exist_ok=True)
        offered = {**self._offered(), "documents": self.as_documents(corpus), "folder": Path(folder)}
        given = {name: value for name, value in offered.items() if name in parameters(factory)}
        made = await self._caller.call(partial(factory, **given))
        if not self.is_pipeline(made):
            raise ConfigError(f"{self._target.as_text}() gave a {type(made).__name__}", f"return {self.wants}")
        return made

    def _offered(self) -> dict[str, Any]:
        lent = self._lent
        return {
            "answer_style": self._runtime.answer_style,
            "base_url": lent.base_url if lent else None,
            "api_key": lent.api_key if lent else None,
            "model": lent.model if lent else None,
            "embedding_model": lent.embedding_model if lent else None,
        }


def parameters(function: Any) -> list[str]:
    """The names of its parameters; none if they are unknown."""
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def family(
    name: str, build: type[CodePipeline], answers: type[CodeParams], check: Callable[[], None], summary: str
) -> SystemSpec:
    """The spec of `name:module:target`, and of what it makes of a target."""

    def at(text: str) -> SystemSpec:
        target = find_target(name, text)
        return SystemSpec(
            name=f"{name}:{target.as_text}",
            # Changes of the module's file are visible; for changes of its imports the user sets `answer.version`.
            version=f"2+{target.digest}",
            summary=f"{build.wants} in {target.module}",
            index_params=BuildParams,
            answer_params=answers,
            build=lambda index, answer, runtime: build(target, index, answer, runtime),
            index_roles=lambda index: frozenset(index.lends),
            answer_roles=lambda _, answer: frozenset(answer.lends),
            preflight=lambda *_: check(),
            own_models=True,
            notes=(OWN_WORDS, UNLENT),
        )

    return pipeline_family(name, "my_module:name", at, BuildParams, answers, summary)
