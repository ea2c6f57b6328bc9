"""The contract of a system: a RAG architecture under test."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, JsonValue

from harness.core.records import (
    AnswerStyle,
    Context,
    Document,
    Evidence,
    Expected,
    IndexStats,
    Prediction,
    Query,
    Usage,
)
from harness.protocols.models import ChatModel, Embedder, Entailment, Reranker, Role


@dataclass(frozen=True)
class ModelProxy:
    """The models of a run behind an OpenAI-compatible URL on this machine, for external code.

    All calls are journaled, counted for the current query, rate-limited, and within the budget.
    """

    base_url: str
    api_key: str
    """A key for this server, generated for this process."""
    model: str
    """Name of the generator; any other name means the same model. Empty: there is none."""
    embedding_model: str
    """Name of the embedder; any other name means the same model. Empty: there is none."""


class Runtime(Protocol):
    """The services of the harness for a system. Everything is metered."""

    @property
    def index_dir(self) -> Path:
        """The only folder a system may write to. Empty when `index` is called; shared by answering processes."""
        ...

    @property
    def seed(self) -> int:
        """Seed for anything random."""
        ...

    @property
    def chat(self) -> ChatModel | None:
        """The generator. None if the config has none (retrieval only): then retrieve, and return None as the
        answer.

        RuntimeError in a phase whose roles do not include it.
        """
        ...

    @property
    def embedder(self) -> Embedder:
        """The embedder; RuntimeError in a phase whose roles do not include it."""
        ...

    @property
    def reranker(self) -> Reranker:
        """The reranker that the spec names for these answer parameters; RuntimeError if it names none.

        The first use loads it, which takes seconds: use it in load().
        """
        ...

    @property
    def entailment(self) -> Entailment:
        """The inference model that the spec names for these answer parameters: a model that the first use loads
        (use it in load()), or the generator. RuntimeError if it names none.
        """
        ...

    @property
    def answer_style(self) -> AnswerStyle:
        """The form of the requested answers: from the config, or else from the data set."""
        ...

    async def answer(self, question: str, contexts: Sequence[Context]) -> str | None:
        """The answer to `question` from `contexts` in rank order: one generation with the prompt that all systems
        share, timed as the stage `generate`. None without a generator.

        A system with its own prompt is compared under different conditions and should say so.
        """
        ...

    @property
    def gold(self) -> Mapping[str, Sequence[Evidence]]:
        """Gold evidence by query id, if the spec has `sees_gold`; otherwise empty."""
        ...

    @property
    def retrieves_only(self) -> bool:
        """Whether the run has no generator, so that answers are not scored and need not be generated."""
        ...

    @property
    def has_answers(self) -> bool:
        """Whether the run has answers of an earlier process, so that its settings are known to work."""
        ...

    def throttled(self) -> AbstractContextManager[None]:
        """Count the block as waiting for a limit of a provider (429), which is not latency."""
        ...

    async def lend(self) -> ModelProxy:
        """Make the models of this phase available to external code until the process ends. If queries run in
        parallel, calls must use `lent_url` to identify their query.
        """
        ...

    def lent_url(self) -> str:
        """The base URL for calls of the current query; available after `lend`."""
        ...

    def routed(self, route: Route) -> System:
        """The system of a route named by the spec, not loaded yet, with its own stored index, which other runs
        share. Load it in load(); the runner closes it. RuntimeError in index(), and for an unknown route.
        """
        ...

    def own_usage(self, usage: Usage | None) -> None:
        """Report the usage of models that are not metered, for the current query or the index; None: unknown. The
        last report counts, and is ignored if calls of the generator were metered.
        """
        ...

    def warn(self, line: str) -> None:
        """Show a warning of one line to the user; repeated lines are shown once."""
        ...

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Time a part of the work as the stage `name`: `with runtime.stage("retrieve"): ...`."""
        ...

    def progress(self, done: int, total: int, doing: str) -> None:
        """Report the progress of index() for the progress bar, such as (12, 56, "extracting")."""
        ...


class System(Protocol):
    """A RAG architecture. It does not measure its own tokens, time or memory; the runner does."""

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        """Build the index in `runtime.index_dir`. After a kill, the build starts again in an empty folder; model
        calls are replayed from the journal, so nothing is paid twice.
        """
        ...

    async def load(self) -> None:
        """Open the stored index in a new process; called once before the first `answer`."""
        ...

    async def answer(self, query: Query) -> Prediction:
        """Answer one query. May be called concurrently, and cancelled at any await when the time limit is reached.

        An exception is recorded as the failure of this query.
        """
        ...

    def close(self) -> None:
        """Release all resources; called once, also if load() or index() failed or was not called."""
        ...


class Params(BaseModel):
    """Base of parameters: immutable, rejects unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Route(Params):
    """A system that a router sends queries to, with its parameters."""

    system: str
    """As in `systems` of a config."""
    index: dict[str, JsonValue] = {}
    answer: dict[str, JsonValue] = {}

    @property
    def key(self) -> str:
        """Equal for equal routes."""
        return json.dumps(self.model_dump(), sort_keys=True)

    @property
    def display_name(self) -> str:
        """For display: `naive top_k=5`."""
        own = ", ".join(f"{key}={value}" for half in (self.index, self.answer) for key, value in half.items())
        return f"{self.system} {own}".rstrip()


@dataclass(frozen=True)
class Corpus:
    """Documents with their digest. Equality and hash use only the digest, so that results can be cached."""

    digest: str
    documents: Sequence[Document] = field(compare=False, repr=False)


@dataclass(frozen=True)
class Workload:
    """The work of a run, as known before it starts, without gold data."""

    corpus: Corpus
    queries: Sequence[Query]
    answer_tokens: int
    """Default `max_tokens` of a call."""
    answer_style: AnswerStyle = "short"


@dataclass(frozen=True)
class Roles:
    """The model roles that each phase of a system calls."""

    index: frozenset[Role]
    answer: frozenset[Role]


BY_GENERATOR = "generator"
"""In place of an inference model: a one-letter reply of the generator (`LogprobModel`)."""
NO_ROLE: frozenset[Role] = frozenset()
EMBEDS: frozenset[Role] = frozenset({"embedder"})
GENERATES: frozenset[Role] = frozenset({"generator"})


@dataclass(frozen=True)
class SystemSpec:
    """Describes a system to the registry."""

    name: str
    version: str
    """Part of the run id. Change it when the same parameters would give different answers."""
    summary: str
    """One line for `rag-harness list systems`."""
    index_params: type[Params]
    answer_params: type[Params]
    build: Callable[[Any, Any, Runtime], System]
    """build(index_params, answer_params, runtime), usually the class itself. It must not open anything; index()
    and load() do. The parameters are separate, so that a change of answer_params reuses the index."""
    index_roles: frozenset[Role] | Callable[[Any], frozenset[Role]]
    """The model roles that index() calls, or a function of index_params. A model that no phase names is not loaded
    or checked, and not part of the run id; one that index() does not name is not part of the index id."""
    answer_roles: frozenset[Role] | Callable[[Any, Any], frozenset[Role]]
    """The model roles that load() and answer() call, or a function of index_params and answer_params."""
    also_called: tuple[str, ...] = ()
    """Lower-case names that papers and tools give this architecture; an unknown name among them suggests it."""
    settle: Callable[[Any, Any], Params] = lambda index_params, _answer_params: index_params
    """settle(index_params, answer_params) -> the index parameters, where those that are not set follow from what
    the answers need: without a search by vectors, no vectors. Part of planning."""
    index_kind: str = ""
    """Systems with the same kind share stored indexes; empty: only this system's (name/version)."""
    weights: Callable[[Any], Mapping[str, str]] = lambda _index_params: {}
    """weights(index_params) -> digests by name of other model weights that index() loads, such as a parser. Part
    of the index id."""
    reranker: Callable[[Any], str | None] = lambda _answer_params: None
    """reranker(answer_params) -> name of the model for `runtime.reranker`, as in
    `harness.models.cross_encoders`; None: none. Its weights are part of the run id, and it is checked before
    anything is paid."""
    entailment: Callable[[Any], str | None] = lambda _answer_params: None
    """entailment(answer_params) -> name of the model for `runtime.entailment`, as for `reranker`, or
    `BY_GENERATOR`; None: none. It is checked before anything is paid and is part of the run id."""
    servers: Callable[[Any], Sequence[str]] = lambda _index_params: ()
    """servers(index_params) -> URLs of servers it uses besides models, such as a database. Those on this machine
    are monitored as the system's database."""
    preflight: Callable[[Any, Any], None] | None = None
    """preflight(index_params, answer_params) raises HarnessError if a requirement (package, database server) is
    missing. Called before anything is downloaded, started or paid; it must be quick and change nothing."""
    expect: Callable[[Any, Any, Workload], Expected] | None = None
    """expect(index_params, answer_params, workload): the expected calls and texts, for `rag-harness estimate`. It
    may take a second or two for a large corpus and must not call a model. None: only earlier runs give an
    estimate."""
    at: Callable[[str], SystemSpec] | None = None
    """at(target) -> the spec of the system `name:target`, such as one behind a URL; ConfigError if it cannot
    exist. The returned spec has that name, or another one that loads the same. A spec with `at` is not a system
    itself, but a scheme for such names."""
    target: str = ""
    """With `at`: an example of a target for the help, such as `//127.0.0.1:8000/ask`."""
    routes: Callable[[Any], Sequence[Route]] | None = None
    """routes(answer_params) -> the systems that it sends queries to. The runner resolves each as if the config
    named it, builds or reuses its index, and provides it in `Runtime.routed`. Their models, packages and servers
    are checked, part of the ids, and paid like those of any system."""
    own_models: bool = False
    """It answers without `Runtime.chat`: by rules, or by models of its own, which are not metered
    (`Runtime.own_usage`), and with its own prompts."""
    is_elsewhere: bool = False
    """It runs in another process at the URL in `servers`. That process is monitored if it is on this machine, and
    the calling process is not counted."""
    english_only: Callable[[Any], str] = lambda _index_params: ""
    """english_only(index_params) -> the part of the index that reads English alone, such as a parser, and the way
    out, as `WHAT: WAY OUT`; empty: none. Reported where the documents are in another language."""
    notes: tuple[str, ...] = ()
    """Notes on its runs that every report prints, one sentence each."""
    sees_gold: bool = False
    """Receives the gold evidence in `runtime.gold`, which other systems never see."""
    baseline: str = ""
    """For a baseline, which is excluded from the ranking: one sentence that every report prints. Empty otherwise.
    """

    @property
    def stored_index_kind(self) -> str:
        """The kind under which its indexes are stored."""
        return self.index_kind or f"{self.name}/{self.version}"

    def roles(self, index_params: Params, answer_params: Params) -> Roles:
        """The model roles of a run with these parameters."""
        index, answer = self.index_roles, self.answer_roles
        return Roles(
            index=index(index_params) if callable(index) else index,
            answer=answer(index_params, answer_params) if callable(answer) else answer,
        )

    def own_routes(self, answer_params: Params) -> list[Route]:
        """`routes` for these parameters, without duplicates; empty if there are none."""
        found = self.routes(answer_params) if self.routes else ()
        return list({route.key: route for route in found}.values())
