"""The nouns: what every stage reads and writes. Frozen, strict, no NaN.

Units are in the names (`_s` seconds, `_bytes`, `_usd`). A quantity that was not measured is None, never 0.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

ContextKind = Literal["passage", "triplet", "summary", "sentence"]
Phase = Literal["index", "answer"]
RunStatus = Literal["ok", "error", "timeout"]
ScoreStatus = Literal["scored", "imputed", "failed", "missing", "not_applicable"]
"""`missing`: there was no record to score, the run is unfinished."""
AnswerStyle = Literal["short", "sentence"]
"""How answers are worded: a word, name or short phrase; or a sentence or two."""
Dimension = Literal["factual_correctness", "context_relevancy", "response_relevancy", "faithfulness"]
"""What a person says of an answer, from 1 to 5 each (Dong et al.): is it right, do the contexts bear on the
question, does it answer the question, does it say only what the contexts say."""


class Record(BaseModel):
    """Base of every noun: immutable, no unknown fields, no coercion, no NaN or infinity."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


class Document(Record):
    """One text of the corpus."""

    doc_id: str
    text: str
    title: str = ""
    metadata: dict[str, str] = {}
    """Such as source, author, published_at, category, url. Never gold, never tags."""


class Query(Record):
    """What a system is asked. Nothing else, so that no gold can leak into a system."""

    query_id: str
    text: str


class Evidence(Record):
    """One gold fact and the document that states it."""

    doc_id: str
    fact: str


class Reference(Record):
    """The gold side of a query; only evaluators see it."""

    query_id: str
    query_type: str
    answers: tuple[str, ...]
    """Any of them is right. Empty: the data set gives no reference, so accuracy is not applicable."""
    evidence: tuple[Evidence, ...] = ()


class Span(Record):
    """A place in a document: `document.text[start:end]`, in characters."""

    doc_id: str
    start: int
    end: int


class Triplet(NamedTuple):
    """One statement as a graph holds it."""

    head: str
    relation: str
    tail: str


class Context(Record):
    """One piece of what the generator saw, in rank order."""

    text: str
    doc_ids: tuple[str, ...]
    kind: ContextKind = "passage"
    triplets: tuple[Triplet, ...] = ()
    """What `text` says, where it puts statements of a graph into words: nobody has to read them out of it."""
    score: float | None = None
    span: Span | None = None
    """Where it comes from; its document's text there is part of `text` (a heading may stand before it)."""

    @property
    def is_own_text(self) -> bool:
        """Whether it is text of a document; else it says something of documents in other words."""
        return self.kind in {"passage", "sentence"}


class Places(Record):
    """Passages by where they stand in documents: their texts stand in the corpus. Each document is named once, and
    all places are one text, since every query has dozens of them and few readers ask.
    """

    doc_ids: tuple[str, ...] = ()
    at: str = Field("", pattern=r"^([0-9]+:[0-9]+-[0-9]+( [0-9]+:[0-9]+-[0-9]+)*)?$")
    """`0:1100-2300`, with spaces between them: the number of the document in `doc_ids`, and as in a `Span` start
    and end."""

    @classmethod
    def of(cls, spans: Iterable[Span]) -> Self:
        """Those, in their order."""
        numbers: dict[str, int] = {}
        at = [f"{numbers.setdefault(one.doc_id, len(numbers))}:{one.start}-{one.end}" for one in spans]
        return cls(doc_ids=tuple(numbers), at=" ".join(at))

    def __len__(self) -> int:
        """How many there are."""
        return self.at.count(":")

    @model_validator(mode="after")
    def _names_its_documents(self) -> Self:
        if any(int(place.partition(":")[0]) >= len(self.doc_ids) for place in self.at.split()):
            raise ValueError("a place is in a document that is not named")
        return self

    @property
    def spans(self) -> Iterator[tuple[str, int, int]]:
        """(doc_id, start, end) of each."""
        for place in self.at.split():
            number, _, span = place.partition(":")
            start, _, end = span.partition("-")
            yield self.doc_ids[int(number)], int(start), int(end)


class Step(Record):
    """One named intermediate step of an answer, as text."""

    name: str
    content: str


class Prediction(Record):
    """What a system returns for one query."""

    answer: str | None
    """None only where the run has no generator (provider `none`: retrieval alone)."""
    contexts: tuple[Context, ...] = ()
    evidence: tuple[Context, ...] = ()
    """Sentences the system offers as proof, each with its span."""
    trace: tuple[Step, ...] = ()
    retrieved: Places | None = None
    """What the search for the question found, best first, further down than what `contexts` took of it: so that a
    fact that is not in the contexts has a rank. Nobody hands it to a generator. None: not kept."""


OWN_MODELS = "own"
"""In place of a model role: models of a pipeline's own, whose calls nobody metered. What is counted there is as
the pipeline reports it."""


class Usage(Record):
    """What the calls to one model used, as its server counted."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """The part of `input_tokens` that the server took from its prompt cache."""
    reasoning_tokens: int = 0
    """The part of `output_tokens` that the model thought with and nobody is shown, where the server tells; 0 too
    where nobody looked, as in records of before this was counted."""
    unmetered_calls: int = 0
    """Calls whose answer carried no usage: the token counts are then lower bounds. More of them than `calls`: how
    many calls there were is not known either (answers that were produced elsewhere)."""
    cut_calls: int = 0
    """Calls whose reply the server ended at `max_tokens` (`finish_reason` length); 0 too where nobody looked, as
    in records of before this was counted."""

    @property
    def is_used(self) -> bool:
        """Whether the model was called, as far as anybody knows."""
        return self != Usage()

    @property
    def has_tokens(self) -> bool:
        """Whether any token was counted."""
        return bool(self.input_tokens or self.output_tokens)

    @property
    def calls_are_known(self) -> bool:
        """Whether `calls` is a count: tokens without a call were counted where nobody counted calls."""
        return bool(self.calls or not self.is_used) and self.unmetered_calls <= self.calls

    def __add__(self, other: "Usage") -> "Usage":
        """Field-wise sum."""
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields})

    def __sub__(self, other: "Usage") -> "Usage":
        """Field-wise difference, nowhere less than 0."""
        return Usage(**{name: max(0, getattr(self, name) - getattr(other, name)) for name in Usage.model_fields})


def less(usage: Mapping[str, Usage], told: Iterable[Mapping[str, Usage]]) -> dict[str, Usage]:
    """What of `usage`, by model role, is not in `told`."""
    left = dict(usage)
    for roles in told:
        left.update({role: left[role] - used for role, used in roles.items() if role in left})
    return left


class Cost(Record):
    """What one query, or one index, took. Measured by the runner, never reported by a system, but under
    `OWN_MODELS`; of answers that were imported, what their file says.
    """

    wall_s: float | None
    """From being asked to having the answer. None: not measured."""
    throttled_s: float | None = 0.0
    """The part of `wall_s` in which a model call was open and every open one waited for a limit that its provider
    set (429, Retry-After, a rate that the user gave because of it). None: not known; latency is then all of it."""
    stages_s: dict[str, float] = {}
    """Seconds by stage name. Stages may overlap, so they need not sum to wall_s."""
    usage: dict[str, Usage] = {}
    """By model role: generator, embedder, judge, judge_embedder; or `OWN_MODELS`, as a pipeline reports it."""
    cpu_s: float | None = None
    """CPU seconds of the system's process, of an index also of those that read texts for it elsewhere; None where
    queries ran side by side."""
    peak_rss_bytes: int | None = None
    embedder_rss_bytes: int | None = None
    """The part of it that loading the embedder within the process took, its library included. None: none was
    loaded there, or it was not measured."""
    embedded_texts: int = 0
    """Texts whose vectors were computed."""
    cached_texts: int = 0
    """Texts whose vectors came from the content cache: wall_s is then not that of a first build."""
    replayed_calls: int = 0
    """Calls answered from the journal of an earlier attempt or build: timing is then not a latency."""
    saved_s: float | None = None
    """Seconds that replayed calls and cached texts took when they were made: with `wall_s` about what a first
    build takes, if it did nothing else beside its calls. None: nothing was saved, or it is not known."""
    replayed_from: dict[str, dict[str, Usage]] = {}
    """What the replayed calls used, by the run that paid for them, then by model role. Part of `usage`."""
    cached_from: dict[str, int] = {}
    """`cached_texts` by the run that computed their vectors; empty name: not known."""
    cached_usage: dict[str, dict[str, Usage]] = {}
    """What a server took to compute those vectors, by the same runs, then by model role. Part of `usage`, and of
    that of the query, index or run that computed them."""

    @property
    def shared_usage(self) -> list[tuple[str, dict[str, Usage]]]:
        """What was there already: (the run that paid, usage by role)."""
        return [*self.replayed_from.items(), *self.cached_usage.items()]

    @property
    def latency_s(self) -> float | None:
        """Wall time without `throttled_s`; waiting for our own cap, for a server's queue and for a retry after any
        failure but a 429 is latency. None where it was not measured.
        """
        return None if self.wall_s is None else self.wall_s - (self.throttled_s or 0.0)


class Failure(Record):
    """Why a query has no prediction."""

    kind: str
    """The exception's class name, or `crash` or `timeout`; of an imported answer `Imported` (its file names the
    error) or `NoAnswer`."""
    message: str


class RunRecord(Record):
    """One query of one run: one line of records.jsonl."""

    query_id: str
    repeat: int
    status: RunStatus
    prediction: Prediction | None = None
    failure: Failure | None = None
    cost: Cost
    attempt: int
    """1 for the first answer; a retry of a failed query appends a line with the next number, which then counts."""
    started_at: str
    """UTC, ISO 8601."""

    @model_validator(mode="after")
    def _prediction_xor_failure(self) -> Self:
        ok = self.status == "ok"
        if ok != (self.prediction is not None) or ok == (self.failure is not None):
            raise ValueError("a record has a prediction if its status is ok, otherwise a failure")
        return self


class IndexStats(Record):
    """What a system says it built. None: this system has no such thing."""

    documents: int
    chunks: int | None = None
    nodes: int | None = None
    edges: int | None = None
    communities: int | None = None
    failed_chunks: int | None = None
    passages: Places | None = None
    """Where every stored passage stands: a fact that none of them holds was cut where documents were. None: not
    told."""
    is_elsewhere: bool = Field(False, exclude_if=lambda value: not value)
    """The system answers from an index that it has already: nothing was built here, and nobody knows what that
    took."""
    notes: tuple[str, ...] = ()
    """Anything a reader should know, such as documents that held no text."""


class IndexRecord(Record):
    """index.json: what the index is, what it cost, and who paid."""

    index_id: str
    stats: IndexStats
    cost: Cost
    bytes_on_disk: int
    built_by: str
    """The run that built it and paid for it."""
    reused_from: str | None = None
    """In a run that found the index already built: `built_by`; None in the run that built it."""


class Score(Record):
    """One measure of one record: a value, or why there is none."""

    query_id: str
    repeat: int
    measure: str
    status: ScoreStatus
    value: float | None = None
    explanation: str = ""
    share_read: float | None = Field(None, ge=0, le=1)
    """Of a score that a judge of contexts made: the part of their characters that it was shown. None: no judge, or
    one that reads no contexts."""
    label: str = Field("", exclude_if=lambda label: not label)
    """Which of the measure's labels the answer has; empty: none of them."""

    @property
    def said(self) -> str:
        """The explanation, and how much of the contexts stands behind it."""
        return said_of(self.explanation, self.share_read)

    @model_validator(mode="after")
    def _value_iff_counted(self) -> Self:
        if (self.value is not None) != (self.status in {"scored", "imputed"}):
            raise ValueError("a score has a value exactly if it is scored or imputed")
        return self


def said_of(explanation: str, share_read: float | None) -> str:
    """See `Score.said`."""
    if share_read is None:
        return explanation
    read = f"{100 * share_read:.0f} % of the contexts read"
    return f"{explanation}; {read}" if explanation else read


class Annotation(Record):
    """What one person said of one answer, in one respect: one line of annotations/<annotator>.jsonl. Of several
    on the same, the last counts.
    """

    query_id: str
    run: str
    """Run id; of its first repeat."""
    annotator: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$")
    dimension: Dimension | None
    """None: `note` is on the answer as a whole."""
    label: int | None = Field(None, ge=1, le=5)
    """None: they cannot tell, or took back what they had said."""
    cannot_tell: bool = False
    note: str = Field("", max_length=4_000)
    at: str = ""
    """UTC, ISO 8601; empty: not known."""

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if self.label is not None and (self.cannot_tell or self.dimension is None):
            raise ValueError("a label is of one dimension, and excludes that nobody can tell")
        return self


class EvaluationRecord(Record):
    """scores/<evaluator>.json: what scored a run, and what that cost. Never a part of the system's cost."""

    evaluator: str
    version: str
    params: dict[str, JsonValue] = {}
    """With every default."""
    models: dict[str, dict[str, JsonValue]] = {}
    """Role -> provider, model, ...: which judge, which embedder."""
    weights: dict[str, str] = {}
    """Name -> digest of what it loads by itself, such as a parser."""
    measures: tuple[str, ...] = ()
    binary: tuple[str, ...] = ()
    """Of `measures`: those whose values are 0 or 1."""
    twins: dict[str, str] = {}
    """Measure -> the measure that it stands in for: a reader is shown how they correlate."""
    cost: Cost
    """`usage` counts every judgement as if it had been asked for; `replayed_from` is the part that was there."""


class RaceDrop(Record):
    """A run that a race asked no further, because it is worse than another."""

    run_id: str
    after: int
    """So many queries."""
    against: str
    """Run id of that one."""
    low: float
    high: float
    """Between how many points it is behind that one."""


class RaceGap(Record):
    """Two runs that a race did not part."""

    a: str
    b: str
    low: float
    high: float
    """Between how many points `a` is ahead of `b`."""


class RaceRecord(Record):
    """race.json: what a race of several runs established, the same in each of them. All that it states is true
    with a chance of 1 - `alpha` at least, however often one looked. Points are hundredths of the measure's span.
    """

    measure: str
    margin: float
    """In points."""
    alpha: float
    n_queries: int
    """Looked at, of `n_drawn`."""
    n_drawn: int
    ended: Literal["decided", "queries", "budget", "broken"]
    """How; `queries`: there was none left; `broken`: a system could answer no more."""
    entrants: tuple[str, ...]
    """Run ids; those of baselines are not among them."""
    left: tuple[str, ...]
    """The best first."""
    dropped: tuple[RaceDrop, ...] = ()
    gaps: tuple[RaceGap, ...] = ()
    """Of those that are left."""


class ExpectedCalls(Record):
    """Model calls of one kind that an index, or a query, is expected to make."""

    calls: float
    """How many; a fraction where they are a mean over queries."""
    input_characters: float
    """Of one prompt, all its messages together."""
    output_tokens_most: float
    """Of one reply: the `max_tokens` that is sent with the prompt. Kinds are told apart by it."""


class Work(Record):
    """What an index, or a query, is expected to ask of models."""

    calls: tuple[ExpectedCalls, ...] = ()
    """Of the generator."""
    embedded_texts: float = 0.0
    embedded_characters: float = 0.0
    """Of all these texts together."""


class Expected(Record):
    """What a system says it will do, from the corpus, the queries and its parameters alone."""

    index: Work
    query: Work
    """Of one query: the mean over the queries."""
    most: str = ""
    """Where this is the most there can be: what would have to happen, such as "3 rounds, none of which finds a
    passage again". Empty: it is what is to be expected."""
    notes: tuple[str, ...] = ()
    """What else is assumed."""


class PhaseEstimate(Record):
    """What one phase is expected to take. None: not known."""

    calls: float | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None
    cached_tokens: float | None = None
    """The part of `input_tokens` that the server is expected to take from its prompt cache."""
    embedder_tokens: float | None = None
    """Sent to an embedder that counts tokens."""
    usd: float | None = None
    seconds: float | None = None
    basis: str = "unknown"
    """What the figures are from: `formula`, `formula, corrected by 3 runs`, `earlier runs`, `unknown`."""
    notes: tuple[str, ...] = ()


class Estimate(Record):
    """estimate.json: what a run was expected to take when it began, with nothing reused."""

    run_id: str
    index: PhaseEstimate
    answer: PhaseEstimate
    """Of every query and repeat."""
    judging: dict[str, PhaseEstimate] = {}
    """By evaluator, of those that call a model at a server: every answer scored anew."""
    expected: Expected | None = None
    """By the system's formula, uncorrected: later estimates learn from its errors. None: it has none."""
    index_is_built: bool = False
    """Then it costs nothing now."""
    n_answers: int
    """(query, repeat) pairs of the whole run."""
    n_left: int
    """Those of them that had no record yet."""
