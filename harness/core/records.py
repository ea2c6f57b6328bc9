"""The records that all stages read and write: frozen, strict, without NaN.

Units are in the names (`_s` seconds, `_bytes`, `_usd`). A quantity that was not measured is None, never 0.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

ContextKind = Literal["passage", "triplet", "summary", "sentence"]
Phase = Literal["index", "answer"]
RunStatus = Literal["ok", "error", "timeout"]
ScoreStatus = Literal["scored", "imputed", "failed", "missing", "not_applicable"]
"""`missing`: there was no record to score, because the run is unfinished."""
AnswerStyle = Literal["short", "sentence"]
"""Form of an answer: `short` is a word, name or phrase; `sentence` is one or two sentences."""
Dimension = Literal[
    "factual_correctness",
    "context_relevancy",
    "response_relevancy",
    "faithfulness",
    "query_relevance",
    "factual_accuracy",
    "coverage",
    "coherence",
    "fluency",
    "quality",
]
"""What a person labels from 1 to 5: four dimensions of Dong et al., the five metrics of RAG-Eval (Akindele et
al.), and the answer as a whole."""
Count = Annotated[int, Field(ge=0, le=10**15)]
Seconds = Annotated[float, Field(ge=0, le=10**10)]
"""A run may be somebody else's: a negative cost would make it the cheapest, an endless one breaks figures."""


class Record(BaseModel):
    """Base of all records: immutable, no unknown fields, no coercion, no NaN or infinity."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


class Document(Record):
    doc_id: str
    text: str
    title: str = ""
    metadata: dict[str, str] = {}
    """For example source, author, published_at, category, url. Never gold data or tags."""


class Query(Record):
    """A query as given to a system, without any gold data that could leak."""

    query_id: str
    text: str


class Evidence(Record):
    """A gold fact and the document that contains it."""

    doc_id: str
    fact: str


class Reference(Record):
    """The gold data of a query; only evaluators see it."""

    query_id: str
    query_type: str
    answers: tuple[str, ...]
    """Accepted answers. Empty: the data set has no reference answer, so accuracy does not apply."""
    evidence: tuple[Evidence, ...] = ()


class Span(Record):
    """A range of characters in a document: `document.text[start:end]`."""

    doc_id: str
    start: int
    end: int


class Triplet(NamedTuple):
    head: str
    relation: str
    tail: str


class Context(Record):
    """A text given to the generator, in rank order."""

    text: str
    doc_ids: tuple[str, ...]
    kind: ContextKind = "passage"
    triplets: tuple[Triplet, ...] = ()
    """The statements that `text` expresses, so that they need not be extracted again."""
    score: float | None = None
    span: Span | None = None
    """Origin in the document. Its text is part of `text`, which may begin with a heading."""

    @property
    def is_own_text(self) -> bool:
        """Whether it is literal text of a document rather than a paraphrase."""
        return self.kind in {"passage", "sentence"}


class Places(Record):
    """Locations of passages, as one string, because a query has dozens of them and they are rarely read."""

    doc_ids: tuple[str, ...] = ()
    at: str = Field("", pattern=r"^([0-9]+:[0-9]+-[0-9]+( [0-9]+:[0-9]+-[0-9]+)*)?$")
    """`0:1100-2300`, separated by spaces: index of the document in `doc_ids`, start and end as in `Span`."""

    @classmethod
    def of(cls, spans: Iterable[Span]) -> Self:
        numbers: dict[str, int] = {}
        at = [f"{numbers.setdefault(one.doc_id, len(numbers))}:{one.start}-{one.end}" for one in spans]
        return cls(doc_ids=tuple(numbers), at=" ".join(at))

    def __len__(self) -> int:
        return self.at.count(":")

    @model_validator(mode="after")
    def _names_its_documents(self) -> Self:
        if any(int(place.partition(":")[0]) >= len(self.doc_ids) for place in self.at.split()):
            raise ValueError("a location refers to an unknown document")
        return self

    @property
    def spans(self) -> Iterator[tuple[str, int, int]]:
        """(doc_id, start, end) of each passage."""
        for place in self.at.split():
            number, _, span = place.partition(":")
            start, _, end = span.partition("-")
            yield self.doc_ids[int(number)], int(start), int(end)


class Step(Record):
    """A named intermediate step of an answer, as text."""

    name: str
    content: str


REASONING = "reasoning"
"""Name of a step that holds the reasoning of a model, which is not part of the answer."""
REPORTED_SCORE = "reported score"
"""Name of a step that holds the score that another tool gave an imported answer."""


class Prediction(Record):
    """The result of a system for one query."""

    answer: str | None
    """None only if the run has no generator (provider `none`: retrieval only)."""
    contexts: tuple[Context, ...] = ()
    has_contexts: bool = True
    """False: the contexts are unknown or none by design, or only their documents are known, and `contexts` have no
    text. True without contexts: nothing was found, which has the worst value."""
    evidence: tuple[Context, ...] = ()
    """Sentences that the system offers as evidence, each with its span unless a model wrote it in other words."""
    trace: tuple[Step, ...] = ()
    retrieved: Places | None = None
    """All retrieved passages, best first, so that a fact missing in the contexts has a rank. None: not
    recorded.
    """

    @property
    def names_alone(self) -> bool:
        """Whether only the documents of the contexts are known, and not their texts."""
        return not self.has_contexts and any(one.doc_ids for one in self.contexts)


NO_ROW = "NoRow"
"""Kind of failure: an imported file has no row for the query, so its score is missing instead of the worst."""
OWN_MODELS = "own"
"""In place of a model role: models of an external pipeline, whose usage is as reported by it, not metered."""


class Usage(Record):
    """Usage of one model, as counted by its server."""

    calls: Count = 0
    input_tokens: Count = 0
    output_tokens: Count = 0
    cached_tokens: Count = 0
    """The part of `input_tokens` read from the server's prompt cache."""
    reasoning_tokens: Count = 0
    """The part of `output_tokens` spent on hidden reasoning; 0 also if it was not counted."""
    unmetered_calls: Count = 0
    """Calls without usage in the reply, whose tokens are missing here. Larger than `calls`: these are unknown
    too.
    """
    cut_calls: Count = 0
    """Calls whose reply ended at `max_tokens` (`finish_reason` length). 0 also if it was not counted."""
    cut_prompts: Count = 0
    """Calls for which the server counted less than half of the tokens that were sent at least."""

    @property
    def is_used(self) -> bool:
        """Whether the model was called, as far as known."""
        return self != Usage()

    @property
    def has_tokens(self) -> bool:
        return bool(self.input_tokens or self.output_tokens)

    @property
    def calls_are_known(self) -> bool:
        """Whether `calls` is a count. Tokens without calls mean that the calls were not counted."""
        return bool(self.calls or not self.is_used) and self.unmetered_calls <= self.calls

    def __add__(self, other: "Usage") -> "Usage":
        """May be beyond the limit of a single count."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields}
        return Usage.model_construct(**sums)

    def __sub__(self, other: "Usage") -> "Usage":
        """Field-wise difference, at least 0."""
        left = {name: max(0, getattr(self, name) - getattr(other, name)) for name in Usage.model_fields}
        return Usage.model_construct(**left)


def subtract_usage(usage: Mapping[str, Usage], others: Iterable[Mapping[str, Usage]]) -> dict[str, Usage]:
    """`usage` by model role minus the `others`, at least 0."""
    left = dict(usage)
    for roles in others:
        left.update({role: left[role] - used for role, used in roles.items() if role in left})
    return left


class Cost(Record):
    """The cost of one query or of an index, measured by the runner unless a pipeline or an imported file reports
    it.
    """

    wall_s: Seconds | None
    """Seconds from question to answer. None: not measured."""
    throttled_s: Seconds | None = 0.0
    """The part of `wall_s` in which all open model calls waited for a limit of the provider. None: unknown;
    latency then includes it."""
    stages_s: dict[str, Seconds] = {}
    """Seconds by stage. Stages may overlap, so the sum may differ from wall_s."""
    usage: dict[str, Usage] = {}
    """By model role: generator, embedder, judge, judge_embedder; or `OWN_MODELS`."""
    cpu_s: Seconds | None = None
    """CPU seconds of the system's process, for an index also of remote workers. None if queries ran in
    parallel.
    """
    peak_rss_bytes: Count | None = None
    embedder_rss_bytes: Count | None = None
    """The part of it used by an embedder loaded in the process, with its library."""
    embedded_texts: Count = 0
    cached_texts: Count = 0
    """Texts with a vector from the cache; wall_s is then not that of a first build."""
    replayed_calls: Count = 0
    """Calls replayed from the journal of an earlier attempt or build; the time is then not a latency."""
    saved_s: Seconds | None = None
    """Seconds that replayed calls and cached texts took originally. None: nothing was saved, or unknown."""
    replayed_from: dict[str, dict[str, Usage]] = {}
    """Usage of the replayed calls by the run that paid, then by model role. Part of `usage`."""
    cached_from: dict[str, Count] = {}
    """`cached_texts` by the run that computed the vectors; empty name: unknown."""
    cached_usage: dict[str, dict[str, Usage]] = {}
    """Usage of the server that computed those vectors, by run, then by model role. Part of `usage`, also of
    theirs.
    """

    @property
    def total(self) -> Usage:
        """Of all roles."""
        return sum(self.usage.values(), Usage())

    @property
    def called_roles(self) -> set[str]:
        """The roles whose model was called, as far as known."""
        return {role for role, usage in self.usage.items() if usage.is_used}

    @property
    def is_live(self) -> bool:
        """Whether it was made without results of an earlier attempt or build."""
        return not (self.replayed_calls or self.cached_texts)

    @property
    def shared_usage(self) -> list[tuple[str, dict[str, Usage]]]:
        """Usage that an earlier run paid: (run, usage by role)."""
        return [*self.replayed_from.items(), *self.cached_usage.items()]

    @property
    def latency_s(self) -> float | None:
        """Wall time without `throttled_s`, with any other waiting or retry. None if not measured."""
        return None if self.wall_s is None else max(0.0, self.wall_s - (self.throttled_s or 0.0))


class Failure(Record):
    """Why a query has no prediction."""

    kind: str
    """The exception's class name, `crash` or `timeout`; `Imported` (error in the file) or `NoAnswer`."""
    message: str


class RunRecord(Record):
    """One query of a run: a line of records.jsonl."""

    query_id: str
    repeat: int
    status: RunStatus
    prediction: Prediction | None = None
    failure: Failure | None = None
    cost: Cost
    attempt: int
    """1 for the first answer. A retry has the next number and replaces it."""
    started_at: str
    """UTC, ISO 8601."""

    @model_validator(mode="after")
    def _prediction_xor_failure(self) -> Self:
        ok = self.status == "ok"
        if ok != (self.prediction is not None) or ok == (self.failure is not None):
            raise ValueError("a record has a prediction if its status is ok, otherwise a failure")
        return self


class IndexStats(Record):
    """Size of an index as reported by its system. None: does not apply to this system."""

    documents: Count
    chunks: Count | None = None
    nodes: Count | None = None
    edges: Count | None = None
    communities: Count | None = None
    failed_chunks: Count | None = None
    passages: Places | None = None
    """Locations of all stored passages. A fact in none of them was cut by chunking. None: not reported."""
    is_elsewhere: bool = Field(False, exclude_if=lambda value: not value)
    """The system uses an existing external index, whose cost is unknown."""
    notes: tuple[str, ...] = ()
    """Such as documents without text."""


class IndexRecord(Record):
    """index.json: the index, its cost, and who paid for it."""

    index_id: str
    stats: IndexStats
    cost: Cost
    bytes_on_disk: Count
    built_by: str
    """The run that built and paid for the index."""
    reused_from: str | None = None
    """`built_by` in a run that reused the index; None in the run that built it."""


class Score(Record):
    """One metric of one record: a value, or the reason why there is none."""

    query_id: str
    repeat: int
    measure: str
    status: ScoreStatus
    value: float | None = None
    explanation: str = ""
    share_read: float | None = Field(None, ge=0, le=1)
    """For a judge that reads contexts: the part of their characters that it saw. None: no such judge."""
    label: str = Field("", exclude_if=lambda label: not label)
    """For metrics with labels."""

    @property
    def said(self) -> str:
        """The explanation, with the share of the contexts that the judge read."""
        return with_share_read(self.explanation, self.share_read)

    @model_validator(mode="after")
    def _value_iff_counted(self) -> Self:
        if (self.value is not None) != (self.status in {"scored", "imputed"}):
            raise ValueError("a score has a value exactly if it is scored or imputed")
        return self


def with_share_read(explanation: str, share_read: float | None) -> str:
    """The text of `Score.said`."""
    if share_read is None:
        return explanation
    read = f"{100 * share_read:.0f} % of the contexts read"
    return f"{explanation}; {read}" if explanation else read


class Annotation(Record):
    """A label by one person for one answer and dimension, of which the last counts: a line of annotations/."""

    query_id: str
    run: str
    """Run id; the annotation is for the first repeat."""
    annotator: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$")
    dimension: Dimension | None
    """None: `note` is about the whole answer."""
    label: int | None = Field(None, ge=1, le=5)
    """None: the person cannot tell, or removed the label."""
    cannot_tell: bool = False
    note: str = Field("", max_length=4_000)
    at: str = ""
    """UTC, ISO 8601; empty: unknown."""

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if self.label is not None and (self.cannot_tell or self.dimension is None):
            raise ValueError("a label needs a dimension and excludes cannot_tell")
        return self


class EvaluationRecord(Record):
    """scores/<evaluator>.json: how a run was scored, at what cost, which is not part of the system's."""

    evaluator: str
    version: str
    params: dict[str, JsonValue] = {}
    """All parameters, including defaults."""
    models: dict[str, dict[str, JsonValue]] = {}
    """Judge and embedder: role -> provider, model, ..."""
    weights: dict[str, str] = {}
    """Digests of other weights that it loads, such as a parser, by name."""
    measures: tuple[str, ...] = ()
    binary: tuple[str, ...] = ()
    """The measures whose values are 0 or 1."""
    twins: dict[str, str] = {}
    """Measure -> the judged measure that it stands in for; reports show their correlation."""
    records: str = ""
    """Checksum of the scored records.jsonl, if the run was closed and no score failed; such scores are final."""
    cost: Cost
    """`usage` counts all judgements, including those replayed from the journal, which are in `replayed_from`."""


class RaceDrop(Record):
    """A run eliminated after so many queries, because it is significantly worse than another."""

    run_id: str
    after: int
    against: str
    """Id of the run that is better."""
    low: float
    high: float
    """Interval of the difference, in points, by which it is worse."""


class RaceGap(Record):
    """Interval of the difference between two runs, `a` minus `b`, in points, if it is not significant."""

    a: str
    b: str
    low: float
    high: float


class RaceRecord(Record):
    """race.json: the result of a race, the same in each of its runs. All its statements are true together with
    probability 1 - `alpha` at least, despite repeated testing. Points are hundredths of the metric's range.
    """

    measure: str
    margin: float
    alpha: float
    n_queries: int
    """Number of queries used, out of `n_drawn`."""
    n_drawn: int
    ended: Literal["decided", "queries", "budget", "broken"]
    """Why it ended; `queries`: none left; `broken`: a system could not continue."""
    entrants: tuple[str, ...]
    """Run ids, without baselines."""
    left: tuple[str, ...]
    """Run ids not eliminated, best first."""
    dropped: tuple[RaceDrop, ...] = ()
    gaps: tuple[RaceGap, ...] = ()
    """Differences between the runs that are left."""


class ExpectedCalls(Record):
    """Expected model calls of one kind, for an index or a query (then a mean)."""

    calls: float
    input_characters: float
    """Of one prompt, all messages together."""
    output_tokens_most: float
    """Largest reply: the `max_tokens` sent with the prompt. It distinguishes the kinds of calls."""


class Work(Record):
    """Expected use of models, for an index or a query."""

    calls: tuple[ExpectedCalls, ...] = ()
    """Of the generator."""
    embedded_texts: float = 0.0
    embedded_characters: float = 0.0
    """Of all embedded texts together."""
    sample: tuple[str, ...] = Field((), exclude=True, repr=False)
    """Some of the texts, evenly spaced, to look up how many have a stored vector. It is not saved."""
    sampled_texts: float = Field(0.0, exclude=True)
    """How many of the embedded texts it stands for."""


class Expected(Record):
    """A system's own estimate of its work, from the corpus, the queries and its parameters."""

    index: Work
    query: Work
    """The mean over the queries."""
    most: str = ""
    """If this is an upper bound: when it is reached, such as "3 rounds, none of which finds a passage again"."""
    notes: tuple[str, ...] = ()


class Range(Record):
    low: float
    high: float

    def __add__(self, other: "Range") -> "Range":
        return Range(low=self.low + other.low, high=self.high + other.high)

    def times(self, low: float, high: float | None = None) -> "Range":
        """Both bounds multiplied; by the same number if there is only one."""
        return Range(low=self.low * low, high=self.high * (low if high is None else high))


class PhaseEstimate(Record):
    """Expected cost of one phase. None: unknown."""

    calls: float | None = None
    input_tokens: Range | None = None
    output_tokens: Range | None = None
    embedder_tokens: Range | None = None
    """Tokens sent to an embedder that counts them."""
    usd: Range | None = None
    seconds: Range | None = None
    basis: str = "unknown"
    """Basis of calls and tokens: `prompt templates`, `3 earlier runs`, `unknown`."""
    notes: tuple[str, ...] = ()


class Estimate(Record):
    """estimate.json: the expected cost of a run when it started, without any reuse."""

    run_id: str
    index: PhaseEstimate
    answer: PhaseEstimate
    """For all queries and repeats."""
    judging: dict[str, PhaseEstimate] = {}
    """By evaluator with a model on a server: the cost of scoring all answers."""
    expected: Expected | None = None
    """By the system's formula, uncorrected; later estimates learn from its errors. None: no formula."""
    start: Range = Range(low=0.0, high=0.0)
    """Seconds to start processes and load models, beside the phases."""
    index_is_built: bool = False
    index_is_shared: bool = Field(False, exclude_if=lambda shared: not shared)
    """Whether an earlier run of the same command builds the index, and pays for it."""
    n_answers: int
    """Number of (query, repeat) pairs of the run."""
    n_left: int
    """How many of them had no record yet."""
    index_left: float = Field(1.0, exclude_if=lambda left: left == 1.0)
    """Share of the calls for the index that no interrupted build has made."""
