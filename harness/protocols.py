"""The contracts: what a system, a data set, an evaluator and a model promise each other.

A stranger adds a system by one folder that exports a `SystemSpec`, registered under the entry-point group
`rag_harness.systems`; data sets (`rag_harness.datasets`) and evaluators (`rag_harness.evaluators`) likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict

from harness.records import (
    Document,
    Evidence,
    Expected,
    IndexStats,
    Prediction,
    Query,
    Reference,
    RunRecord,
    Score,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

Role = Literal["generator", "embedder"]
EvaluatorRole = Literal["judge", "judge_embedder"]


class Message(NamedTuple):
    """One turn of a chat prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


class ChatModel(Protocol):
    """A metered language model: every call is journaled, counted, limited and retried below this line."""

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        json_schema: Mapping[str, Any] | None = None,
    ) -> str:
        """The model's reply as text; with `json_schema`, text the server constrained to that schema.

        Raises `harness.errors.ModelUnavailable` where no query can succeed (server down, key refused), and
        the client's own exception where this one call failed.
        """
        ...


class Embedder(Protocol):
    """A metered embedding model; rows are unit vectors, float32."""

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), d). Cached by content across runs: the same text is embedded once."""
        ...

    async def embed_query(self, text: str) -> Vectors:
        """Shape (d,). Never taken from another run's cache, so that latency stays honest."""
        ...


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
        """None where the run has no generator: retrieve, and answer None."""
        ...

    @property
    def embedder(self) -> Embedder:
        """The embedder of the run."""
        ...

    @property
    def gold(self) -> Mapping[str, Sequence[Evidence]]:
        """Reference evidence by query id, for a system whose spec says `sees_gold`; empty for every other."""
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
    """Base of a system's parameters: immutable, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


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
    index_kind: str = ""
    """Two systems that name the same kind share stored indexes; empty: this system's own (name/version)."""
    index_roles: frozenset[Role] | Callable[[Any], frozenset[Role]] = frozenset({"embedder"})
    """Which models determine the index, and so its identity; a function of index_params where they decide it."""
    preflight: Callable[[Any, Any], None] | None = None
    """preflight(index_params, answer_params) raises HarnessError where what they need is not there (a package, a
    database server). Called before anything is fetched, started or paid; it must be quick and change nothing."""
    expect: Callable[[Any, Any, Workload], Expected] | None = None
    """expect(index_params, answer_params, workload): the calls and texts that these parameters lead to, for
    `rag-harness estimate`; a second or two for a large corpus, no model. None: only earlier runs can tell."""
    sees_gold: bool = False
    """Gets the reference evidence in `runtime.gold`, which no other system sees."""
    bracket: str = ""
    """For what is no contender but a mark to read the others by: one sentence that every report prints."""

    @property
    def stored_index_kind(self) -> str:
        """The kind under which indexes are stored and found again."""
        return self.index_kind or f"{self.name}/{self.version}"

    def roles_of(self, index_params: Params) -> frozenset[Role]:
        """The models that determine an index with these parameters."""
        return self.index_roles(index_params) if callable(self.index_roles) else self.index_roles


@dataclass(frozen=True)
class Row:
    """One query of a data set with its gold side."""

    query: Query
    reference: Reference
    doc_ids: tuple[str, ...]
    """Every document the data set attaches to this query: what `dataset.corpus=cited` keeps."""


@dataclass(frozen=True)
class RawDataset:
    """A whole data set as its loader read it, before sampling."""

    documents: tuple[Document, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    """What a reader must know, such as queries left out and why; kept in the run."""


@dataclass(frozen=True)
class DatasetSpec:
    """How a data set presents itself to the registry."""

    name: str
    summary: str
    load: Callable[[str], RawDataset]
    """load(subset) -> RawDataset; raises DataError with one line that says what is missing and how to get it."""
    subsets: tuple[str, ...] = ("default",)
    """The first is the default."""


@dataclass(frozen=True)
class Measure:
    """What a score measures. Its name parses, prints and sorts as itself (`nDCG@10`)."""

    name: str
    summary: str
    failure_value: float
    """What a failed query counts as: the worst value, so that a failure never leaves the denominator."""
    higher_is_better: bool = True
    binary: bool = False
    """Values are 0 or 1: the confidence interval is Wilson's."""
    range: tuple[float, float] | None = None
    """Lowest and highest value that can be; a score outside has failed. None: any number."""
    twin_of: str = ""
    """The measure, perhaps of another evaluator, that this one stands in for at less cost: where a run has both,
    the report shows how they correlate."""


@dataclass(frozen=True)
class Case:
    """One answered query with its gold side: what an evaluator scores."""

    query: Query
    reference: Reference
    record: RunRecord
    """Of status ok."""
    measures: tuple[Measure, ...]
    """What is to be scored: those of the evaluator's measures that apply."""

    @property
    def prediction(self) -> Prediction:
        """What the system returned."""
        if self.record.prediction is None:
            raise ValueError(f"the record of '{self.record.query_id}' has no prediction")
        return self.record.prediction


@dataclass(frozen=True)
class RunFacts:
    """What a whole run is, as far as it decides which measures apply to it."""

    has_generator: bool = True
    has_contexts: bool = True
    """False: no answer of the run names a context (closed book; answers imported without contexts)."""


class EvaluationRuntime(Protocol):
    """What the harness hands to an evaluator. Its models are metered, and their cost is not the system's."""

    @property
    def judge(self) -> ChatModel:
        """The model that judges; there for an evaluator whose spec names the role."""
        ...

    @property
    def embedder(self) -> Embedder:
        """The embedder of evaluators, the same for every run; likewise."""
        ...

    @property
    def seed(self) -> int:
        """For whatever is random."""
        ...

    @property
    def concurrency(self) -> int:
        """How many judgements are worth having under way at once."""
        ...

    def charge(self) -> AbstractContextManager[None]:
        """Every model call stands inside one: `with runtime.charge(): ...`, a block for each judgement.

        The same request within one block is another call; in another block, run or evaluation it is the same
        call, paid once: the judge is asked once about a text, whoever wrote it, and a killed evaluation resumes.
        """
        ...

    def progress(self, done: int, total: int, doing: str) -> None:
        """Say how far the evaluation is: the bar shows it, with ETA and cost."""
        ...


class Evaluator(Protocol):
    """Scores saved records; never calls a system. One instance scores every run of a command, one by one."""

    def not_applicable(self, reference: Reference, measure: Measure, run: RunFacts) -> str:
        """Why `measure` does not apply to this query; empty where it does. Decided without looking at the answer,
        so that a failed query has the same denominator as an answered one.
        """
        ...

    async def evaluate(self, cases: Sequence[Case]) -> Iterable[Score]:
        """A score for each measure of each case of one run, in any order; one left out is filled in as failed."""
        ...

    def close(self) -> None:
        """Release everything; called once."""
        ...


@dataclass(frozen=True)
class EvaluatorSpec:
    """How an evaluator presents itself to the registry."""

    name: str
    version: str
    """Raise it when the same records would be scored differently."""
    summary: str
    """One line for `rag-harness list evaluators`."""
    params: type[Params]
    """What `per_evaluator.<name>` of a config may set."""
    measures: Callable[[Any], tuple[Measure, ...]]
    """measures(params): what it scores; names are unique among all evaluators."""
    build: Callable[[Any, EvaluationRuntime], Evaluator]
    """build(params, runtime). Loads its models, or raises HarnessError where they are not there."""
    roles: frozenset[EvaluatorRole] = frozenset()
    """The models it calls."""
    preflight: Callable[[Any], None] | None = None
    """preflight(params) raises HarnessError where a package or file it needs is not there; quick, free."""
