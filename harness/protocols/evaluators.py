"""The contract of an evaluator: its metrics, the records they apply to, and the models it uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from harness.core.records import Dimension, Prediction, Query, Reference, RunRecord, Score
from harness.protocols.models import ChatModel, Embedder, EvaluatorRole
from harness.protocols.systems import Params

Side = Literal["question", "answer", "contexts", "evidence", "reference"]
"""A part of an answered query that a metric may read; `evidence`: sentences that the answer names as evidence."""
Sides = frozenset[Side]


@dataclass(frozen=True)
class PanelFigure:
    """A figure with one panel per metric. Metrics that name the same figure share it."""

    stem: str
    """File name without extension."""
    title: str
    says: str
    """What it shows: the beginning of the caption, without a full stop."""
    zoomed: bool = False
    """The axis starts at the data, not at 0."""
    along: str = ""
    """Label of the horizontal axis of its curves, such as k."""


@dataclass(frozen=True)
class Panel:
    """The place of a metric in a figure."""

    figure: PanelFigure
    title: str = ""
    """Empty: the title of the metric."""
    row: str = ""
    """Panels with the same row are placed side by side, under this heading."""
    curve: str = ""
    """Metrics with the same curve are its points, one per `at`, such as Hit over k."""
    at: float = 0.0
    repeats: str = ""
    """A metric that often has the same means as this one; if it has in every run, this one is not drawn."""


@dataclass(frozen=True)
class ConstantAnswer:
    """The same answer given to every query."""

    answer: str
    values: tuple[float, ...]
    """Its score on each query."""


@dataclass(frozen=True)
class ScoreLabel:
    """A category of answers within a metric, such as a cause of wrong answers."""

    name: str
    """The value of `Score.label`: lower-case letters, digits and dashes."""
    title: str
    """Display name; a few words."""
    advice: str
    """One sentence: what to try if many answers are in this category."""
    note: str = ""
    """What the verdict's notes say where a tenth of the answers of a run is in it: `kg: 3 of 12 answers NOTE`."""


@dataclass(frozen=True)
class Measure:
    """A metric. Its name is used unchanged in files and on screen (`nDCG@10`)."""

    name: str
    summary: str
    """Definition of the value, in one sentence."""
    failure_value: float | None
    """The value of a failed query: the worst value, so that failures stay in the denominator. It may be 0 if
    values are signed, such as cosines. None: the metric describes the retrieval without judging it, such as its
    length, and does not apply to a failed query."""
    counts_failures: bool = True
    """False: it does not apply to a failed query either, as a crash is no abstention. Such a metric cannot rank,
    because failing would be an advantage."""
    title: str = ""
    """Name in sentences and on axes; empty: `name`."""
    section: str = ""
    """Title of its section of the report, shared by metrics that name the same one; empty: a section of the
    evaluator's own."""
    unit: Literal["", "%"] = ""
    """`%`: a share, shown in per cent."""
    reads: Sides = frozenset()
    """The parts of an answered query that determine its value."""
    queries: Literal["all", "answerable", "worded", "null"] = "all"
    """The queries to which it applies. `null`: the reference answer is an abstention; `worded`: the reference
    answer is neither an abstention nor only yes or no."""
    higher_is_better: bool = True
    binary: bool = False
    """Values are 0 or 1, so that the Wilson interval is used."""
    range: tuple[float, float] | None = None
    """Lowest and highest possible value; a score outside it is a failure. None: any number."""
    twin_of: str = ""
    """A judged metric, possibly of another evaluator, that this one approximates at lower cost. If a run has both,
    the report shows their correlation."""
    live: bool = False
    """Can be shown for a single new answer: it reads no reference, and its explanation says what the value means.
    """
    labels: tuple[ScoreLabel, ...] = ()
    """For a binary metric: categories of the answers with value 1, of which each answer has exactly one. A report
    shows their numbers in this order, with advice."""
    failure_label: str = ""
    """For a metric with labels: the label of failed queries, whose value is `failure_value`."""
    stands_for: Dimension | None = None
    """The human label that corresponds to it. If answers of a run have human labels, the report corrects the mean
    of the metric by them. The metric must be a share or have a `range`."""
    column: bool = False
    """A column of the leaderboard: every report shows it and compares runs by it, besides the primary metric."""
    panel: Panel | None = None
    """Where a report draws it; None: not drawn."""
    constant: Callable[[Sequence[Reference], Sequence[float]], ConstantAnswer | None] | None = None
    """constant(references, weights): the constant answer with the best weighted mean; None if no constant answer
    scores above 0. It is a lower bound that a system should exceed."""
    ranks_where_answers_cannot: bool = False
    """Ranks runs if answers cannot, because even answers from the gold evidence are not significantly better
    than a constant one.
    """

    @property
    def display_name(self) -> str:
        """Name in sentences."""
        return self.title or self.name

    @property
    def ends(self) -> tuple[float, float] | None:
        """Lowest and highest possible value; None: unknown."""
        return (0.0, 1.0) if self.is_share else self.range

    @property
    def is_share(self) -> bool:
        """Whether its mean is a share, shown in per cent."""
        return self.binary or self.unit == "%"


class RetrievalTrace(Protocol):
    """What a run retrieved from, as far as it was saved."""

    @property
    def documents(self) -> Mapping[str, str]:
        """Text of every document of the corpus by id; empty: not saved."""
        ...

    @property
    def passages(self) -> Mapping[str, Sequence[tuple[int, int]]] | None:
        """Start and end of every stored passage by document id; None: not reported."""
        ...


@dataclass(frozen=True)
class ScoringInput:
    """An answered query with its gold data: the input of an evaluator."""

    query: Query
    reference: Reference
    record: RunRecord
    """Has status ok."""
    measures: tuple[Measure, ...]
    """The measures to score: those of the evaluator that apply."""
    searched: RetrievalTrace | None = None
    """The same for all cases of a run; None: nothing was saved."""

    @property
    def prediction(self) -> Prediction:
        """The system's prediction."""
        if self.record.prediction is None:
            raise ValueError(f"the record of '{self.record.query_id}' has no prediction")
        return self.record.prediction


@dataclass(frozen=True)
class RunFacts:
    """Properties of a run that decide which metrics apply."""

    has_generator: bool = True
    has_contexts: bool = True
    """False: no answer of the run states its contexts (closed book; answers imported without contexts)."""
    names_alone: bool = False
    """True, with `has_contexts` False: the documents of the contexts are known, and not their texts."""
    names_documents: bool = True
    """False: the run has contexts, and none names a document."""
    has_evidence: bool = True
    """False: no answer of the run has evidence sentences."""


class EvaluationRuntime(Protocol):
    """The services of the harness for an evaluator. Models are metered, and their cost is not the system's."""

    @property
    def judge(self) -> ChatModel:
        """The judge; available if the evaluator's spec names the role."""
        ...

    @property
    def embedder(self) -> Embedder:
        """The embedder of evaluators, the same for all runs; available if the evaluator's spec names the role."""
        ...

    @property
    def seed(self) -> int:
        """Seed for anything random."""
        ...

    @property
    def concurrency(self) -> int:
        """Useful number of parallel judgements."""
        ...

    def charge(self) -> AbstractContextManager[None]:
        """Context manager around all model calls of one judgement: `with runtime.charge(): ...`.

        Repeating a request within one block is a new call. In another block, run or evaluation it is the same
        call, paid once: a judge is called once about a text, whoever wrote it, and a killed evaluation resumes.
        """
        ...

    def progress(self, done: int, total: int, doing: str) -> None:
        """Report the progress of the evaluation for the progress bar."""
        ...


class Evaluator(Protocol):
    """Scores saved records and never calls a system. One instance scores all runs of a command in turn."""

    def not_applicable(self, reference: Reference, measure: Measure, run: RunFacts) -> str:
        """Why `measure` does not apply to this query; empty if it does. Decided without the answer, so that failed
        and answered queries have the same denominator.
        """
        ...

    async def evaluate(self, cases: Sequence[ScoringInput]) -> Iterable[Score]:
        """Scores for each measure of each case of one run, in any order. A missing score counts as failed."""
        ...

    def close(self) -> None:
        """Release all resources; called once."""
        ...


@dataclass(frozen=True)
class EvaluatorSpec:
    """Describes an evaluator to the registry."""

    name: str
    version: str
    """Change it when the same records would be scored differently."""
    summary: str
    """One line for `rag-harness list evaluators`."""
    params: type[Params]
    """Parameters that a config can set under `per_evaluator.<name>`."""
    measures: Callable[[Any], tuple[Measure, ...]]
    """measures(params): its metrics; names are unique among all evaluators."""
    build: Callable[[Any, EvaluationRuntime], Evaluator]
    """build(params, runtime). Loads its models; HarnessError if they are missing."""
    roles: frozenset[EvaluatorRole] = frozenset()
    """The model roles it calls."""
    weights: Callable[[Any], Mapping[str, str]] | None = None
    """weights(params) -> digests by name of other model weights it loads, such as a parser. Scores made with
    different weights are not comparable."""
    preflight: Callable[[Any], None] | None = None
    """preflight(params) raises HarnessError if a package or file is missing. It must be quick and free."""
