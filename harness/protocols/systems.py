"""The contract of a system: one RAG architecture under test."""

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
class LentModels:
    """The models of a run behind an OpenAI-compatible URL on this machine, for code that knows nothing of ours.

    Every call passes the seam: journaled, counted for the query that is under way, limited, within the budget.
    """

    base_url: str
    api_key: str
    """Made for this process; it opens nothing else."""
    model: str
    """What the generator is called there; any other name means the same model. Empty: there is none."""
    embedding_model: str
    """Likewise."""


class Runtime(Protocol):
    """What the harness hands to a system. Everything in it is metered."""

    @property
    def index_dir(self) -> Path:
        """The only folder a system writes to; empty when `index` is called, shared by processes that answer."""
        ...

    @property
    def seed(self) -> int:
        """For whatever is random."""
        ...

    @property
    def chat(self) -> ChatModel | None:
        """The generator. None where the config has none (retrieval alone): retrieve, and answer None.

        RuntimeError in a phase whose roles do not name it.
        """
        ...

    @property
    def embedder(self) -> Embedder:
        """The embedder of the run; RuntimeError in a phase whose roles do not name it."""
        ...

    @property
    def reranker(self) -> Reranker:
        """The cross-encoder that the spec names for these answer parameters; RuntimeError where it names none.

        The first use loads it, which takes seconds: use it in load().
        """
        ...

    @property
    def entailment(self) -> Entailment:
        """What the spec names for these answer parameters: a model of inference, which the first use loads (use it
        in load()), or the generator. RuntimeError where it names none.
        """
        ...

    @property
    def answer_style(self) -> AnswerStyle:
        """How answers are to be worded: what the data set asks for, unless the config says otherwise."""
        ...

    async def answer(self, question: str, contexts: Sequence[Context]) -> str | None:
        """The answer to `question` from `contexts`, in rank order: one generation under the contract that every
        system here answers under, timed as the stage `generate`. None without a generator.

        Whoever prompts in other words is compared under another contract, and should say so.
        """
        ...

    @property
    def gold(self) -> Mapping[str, Sequence[Evidence]]:
        """Reference evidence by query id, for a system whose spec says `sees_gold`; empty for every other."""
        ...

    @property
    def retrieves_only(self) -> bool:
        """Whether the run has no generator, so that no answer is scored: one should not be paid for."""
        ...

    async def lend(self) -> LentModels:
        """Open the models that the spec names for this phase to code of others, until the process ends. Where two
        queries are under way, a call has to tell whose it is: by `lent_url`.
        """
        ...

    def lent_url(self) -> str:
        """The base URL whose calls are the current query's, whatever else is under way; after `lend`."""
        ...

    def routed(self, route: Route) -> System:
        """The system of a route that the spec names, over its own stored index, which other runs share: not loaded
        yet. Whoever routes loads it in load(), hands it queries, and leaves closing it to the runner.
        RuntimeError in index(), and for a route that the spec does not name.
        """
        ...

    def own_usage(self, usage: Usage | None) -> None:
        """What the current query (or index) has used of models that nobody meters, by its own account; None: it
        does not say. The last word counts, and none does where calls of the generator were metered.
        """
        ...

    def warn(self, line: str) -> None:
        """Say what whoever runs this should know, in one line; the same line is shown once."""
        ...

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Time a part of the work under `name`: `with runtime.stage("retrieve"): ...`."""
        ...

    def progress(self, done: int, total: int, doing: str) -> None:
        """Say how far index() is, such as (12, 56, "extracting"): the bar shows it, with ETA and cost."""
        ...


class System(Protocol):
    """One RAG architecture. It never reports its own tokens, time or memory: the runner measures."""

    async def index(self, corpus: Sequence[Document]) -> IndexStats:
        """Build the index under `runtime.index_dir`. A killed build starts again in an empty folder: what
        models answered is replayed from the journal, so nothing is paid twice.
        """
        ...

    async def load(self) -> None:
        """Open the stored index in a fresh process; called once before the first `answer`."""
        ...

    async def answer(self, query: Query) -> Prediction:
        """Answer one query; may be called concurrently, and cancelled at any await when its time is up.

        An exception becomes that query's record.
        """
        ...

    def close(self) -> None:
        """Release everything; called once, also where load() or index() failed or never came."""
        ...


class Params(BaseModel):
    """Base of parameters: immutable, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Route(Params):
    """A system that a router hands queries to, with parameters of its own."""

    system: str
    """As in a config's `systems`."""
    index: dict[str, JsonValue] = {}
    answer: dict[str, JsonValue] = {}

    @property
    def key(self) -> str:
        """The same for routes that say the same."""
        return json.dumps(self.model_dump(), sort_keys=True)

    @property
    def spoken(self) -> str:
        """As people read it: `naive top_k=5`."""
        own = ", ".join(f"{key}={value}" for half in (self.index, self.answer) for key, value in half.items())
        return f"{self.system} {own}".rstrip()


@dataclass(frozen=True)
class Corpus:
    """Documents under their digest; equal and hashed by it alone, so that what is read from them can be cached."""

    digest: str
    documents: Sequence[Document] = field(compare=False, repr=False)


@dataclass(frozen=True)
class Workload:
    """What a run is to do, as far as it can be known before it starts. Never the gold side."""

    corpus: Corpus
    queries: Sequence[Query]
    answer_tokens: int
    """`max_tokens` of a call that names none itself."""
    answer_style: AnswerStyle = "short"


@dataclass(frozen=True)
class Roles:
    """The models that the two phases of a system call."""

    index: frozenset[Role]
    answer: frozenset[Role]


BY_GENERATOR = "generator"
"""In place of a model of inference: one letter of the generator, see `LetterModel`."""
NO_ROLE: frozenset[Role] = frozenset()
EMBEDS: frozenset[Role] = frozenset({"embedder"})
GENERATES: frozenset[Role] = frozenset({"generator"})


@dataclass(frozen=True)
class SystemSpec:
    """How a system presents itself to the registry."""

    name: str
    version: str
    """Part of the run id: raise it when the same parameters would answer differently."""
    summary: str
    """One line for `rag-harness list systems`."""
    index_params: type[Params]
    answer_params: type[Params]
    build: Callable[[Any, Any, Runtime], System]
    """build(index_params, answer_params, runtime), usually the class itself. Opens nothing: index() and load() do.
    The two halves stand apart so that a change of answer_params reuses the index that index_params determine."""
    index_roles: frozenset[Role] | Callable[[Any], frozenset[Role]]
    """The models that index() calls, or a function of index_params where they decide it. A model that neither
    phase names is not built, fetched or checked, and is no part of what identifies a run; one that index() does
    not name is no part of what identifies the index."""
    answer_roles: frozenset[Role] | Callable[[Any, Any], frozenset[Role]]
    """The models that load() and answer() call, or a function of index_params and answer_params."""
    index_kind: str = ""
    """Two systems that name the same kind share stored indexes; empty: this system's own (name/version)."""
    weights: Callable[[Any], Mapping[str, str]] | None = None
    """weights(index_params) -> digest by name of whatever learnt weights index() loads by itself, such as a
    parser: part of what identifies the index."""
    reranker: Callable[[Any], str | None] | None = None
    """reranker(answer_params) -> the cross-encoder in `runtime.reranker` as `harness.models.rerankers` names it;
    None: none. Its weights are part of what identifies a run, and it is checked before anything is paid."""
    entailment: Callable[[Any], str | None] | None = None
    """entailment(answer_params) -> the model of inference in `runtime.entailment` as `harness.models.entailment`
    names it, or `BY_GENERATOR`; None: none. As a reranker, it is checked first and identifies a run."""
    servers: Callable[[Any], Sequence[str]] | None = None
    """servers(index_params) -> the URLs of servers that it uses besides models, such as a database: what of them
    runs on this machine is sampled as the system's database."""
    preflight: Callable[[Any, Any], None] | None = None
    """preflight(index_params, answer_params) raises HarnessError where what they need is not there (a package, a
    database server). Called before anything is fetched, started or paid; it must be quick and change nothing."""
    expect: Callable[[Any, Any, Workload], Expected] | None = None
    """expect(index_params, answer_params, workload): the calls and texts that these parameters lead to, for
    `rag-harness estimate`; a second or two for a large corpus, no model. None: only earlier runs can tell."""
    at: Callable[[str], SystemSpec] | None = None
    """at(target) -> the system `name:target`, such as one behind a URL; ConfigError where there can be none. Its
    spec is called so too, or by another spelling that loads the same. What has `at` is no system itself, but how
    such systems are named."""
    target: str = ""
    """With `at`: what stands behind the name, for whoever asks, such as `//127.0.0.1:8000/ask`."""
    routes: Callable[[Any], Sequence[Route]] | None = None
    """routes(answer_params) -> the systems that it hands queries to. The runner resolves each as if it were
    named in the config, builds its index under its own id, or finds it there, and lends it in `Runtime.routed`;
    what they need of models, packages and servers is checked, identified and paid as theirs."""
    own_models: bool = False
    """It may call models of its own, which nobody meters (`Runtime.own_usage`), and prompts as it likes."""
    is_elsewhere: bool = False
    """It works in a process of its own, at the URL that `servers` names: that one is watched where it is on this
    machine, and what only asks it counts for nothing."""
    notes: tuple[str, ...] = ()
    """What every report says of its runs, a sentence each."""
    sees_gold: bool = False
    """Gets the reference evidence in `runtime.gold`, which no other system sees."""
    baseline: str = ""
    """For what is no contender but a mark to read the others by: one sentence that every report prints."""

    @property
    def stored_index_kind(self) -> str:
        """The kind under which indexes are stored and found again."""
        return self.index_kind or f"{self.name}/{self.version}"

    def roles(self, index_params: Params, answer_params: Params) -> Roles:
        """The models that a run with these parameters calls."""
        index, answer = self.index_roles, self.answer_roles
        return Roles(
            index=index(index_params) if callable(index) else index,
            answer=answer(index_params, answer_params) if callable(answer) else answer,
        )

    def own_weights(self, index_params: Params) -> dict[str, str]:
        """`weights` of these parameters; empty where the system names none."""
        return dict(self.weights(index_params)) if self.weights else {}

    def own_reranker(self, answer_params: Params) -> str | None:
        """`reranker` of these parameters; None where the system names none."""
        return self.reranker(answer_params) if self.reranker else None

    def own_entailment(self, answer_params: Params) -> str | None:
        """`entailment` of these parameters; None where the system names none."""
        return self.entailment(answer_params) if self.entailment else None

    def own_routes(self, answer_params: Params) -> list[Route]:
        """`routes` of these parameters, each once; empty where the system hands queries to no other."""
        found = self.routes(answer_params) if self.routes else ()
        return list({route.key: route for route in found}.values())
