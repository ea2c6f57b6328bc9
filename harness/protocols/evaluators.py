"""The contract of an evaluator: what it measures, on which records, with which models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from harness.core.records import Dimension, Prediction, Query, Reference, RunRecord, Score
from harness.protocols.models import ChatModel, Embedder, EvaluatorRole
from harness.protocols.systems import Params

Side = Literal["question", "answer", "contexts", "evidence", "reference"]
"""A part of an answered query that a measure may read; `evidence`: the sentences that an answer names as proof."""
Sides = frozenset[Side]


@dataclass(frozen=True)
class PanelFigure:
    """A figure whose panels are measures: those that name one and the same stand in it."""

    stem: str
    """Of its files."""
    title: str
    says: str
    """What it shows, as the beginning of its caption, without an end."""
    zoomed: bool = False
    """The axis begins where the values do, not at 0."""
    along: str = ""
    """What the points of its curves lie along, such as k."""


@dataclass(frozen=True)
class Panel:
    """The place of a measure in a figure."""

    figure: PanelFigure
    title: str = ""
    """Empty: the measure's."""
    row: str = ""
    """Panels that name the same row stand side by side, below its name."""
    curve: str = ""
    """Measures that name the same curve are its points, one for each `at`: such as Hit over k."""
    at: float = 0.0
    reach: str = ""
    """A measure that says how far along its curve a run goes at all, such as how many documents its contexts name:
    a point beyond it is that of less, and runs compare at the farthest point that all of them reach."""
    against: str = ""
    """A measure that this one is bought with, such as refusals with wrong answers: runs are points between the
    two."""
    repeats: str = ""
    """A measure whose means this one often has: where it has them in every run, it is not drawn."""


@dataclass(frozen=True)
class ConstantAnswer:
    """One answer to every query, whatever is asked."""

    answer: str
    values: tuple[float, ...]
    """What it is worth on each query."""


@dataclass(frozen=True)
class ScoreLabel:
    """One of the kinds into which a measure sorts answers, such as why one is wrong."""

    name: str
    """What `Score.label` says: small letters, digits and dashes."""
    title: str
    """What a reader is shown; a few words."""
    advice: str
    """What to try where many answers are of this kind: one sentence."""


@dataclass(frozen=True)
class Measure:
    """What a score measures. Its name parses, prints and sorts as itself (`nDCG@10`)."""

    name: str
    summary: str
    """One sentence: what its value is."""
    failure_value: float | None
    """What a failed query counts as: the worst value, so that a failure never leaves the denominator; where values
    have a sign, such as cosines, it may be 0. None: the measure describes what was retrieved and is no merit, such
    as how long it is; of a failed query there is nothing to describe."""
    title: str = ""
    """What a sentence and an axis call it; empty: its name."""
    section: str = ""
    """The title of the part of a report in which it stands, with those of other measures that name the same;
    empty: a part of its evaluator's own."""
    unit: Literal["", "%"] = ""
    """`%`: a share, said in per cent."""
    reads: Sides = frozenset()
    """What of an answered query decides its value."""
    queries: Literal["all", "answerable", "worded", "null"] = "all"
    """To which it applies: `null` ones are those whose right answer is that there is none; `worded` ones those
    others whose right answer is more than a bare yes or no."""
    higher_is_better: bool = True
    binary: bool = False
    """Values are 0 or 1: the confidence interval is Wilson's."""
    range: tuple[float, float] | None = None
    """Lowest and highest value that can be; a score outside has failed. None: any number."""
    twin_of: str = ""
    """The measure, perhaps of another evaluator, that this one stands in for at less cost: where a run has both,
    the report shows how they correlate."""
    live: bool = False
    """It is said of an answer as soon as somebody has asked for one: it reads no reference, and its explanation
    says what the value means."""
    labels: tuple[ScoreLabel, ...] = ()
    """Of a binary measure: the kinds of answers whose value is 1, of which each has exactly one. A report draws
    how many answers of each kind a run has, in this order, and says what to try."""
    failure_label: str = ""
    """Of a measure with labels: that of a failed query, whose value is `failure_value`."""
    stands_for: Dimension | None = None
    """What a person would be asked in its place: where people have labelled answers of a run, a report corrects
    the measure's mean by their labels. It is a share, or has a `range`."""
    compared: bool = False
    """Every report compares runs by it, beside the measure that ranks; so it does by an evaluator's first."""
    panel: Panel | None = None
    """Where a report draws it; None: nowhere."""
    constant: Callable[[Sequence[Reference], Sequence[float]], ConstantAnswer | None] | None = None
    """constant(references, weights): of all answers that never look at the question, the one with the best
    weighted mean; None where none is worth anything. What a system has to pass before its answers say anything."""
    ranks_where_answers_cannot: bool = False
    """It ranks runs where the answers cannot: where the best answers there can be are not told apart from a
    constant one. Of several such measures on a curve, the one at the farthest point that every run reaches."""

    @property
    def spoken(self) -> str:
        """What a sentence calls it."""
        return self.title or self.name

    @property
    def ends(self) -> tuple[float, float] | None:
        """Between what its values lie; None: nobody knows."""
        return (0.0, 1.0) if self.is_share else self.range

    @property
    def is_share(self) -> bool:
        """Whether its mean is a share of something, and so said in per cent."""
        return self.binary or self.unit == "%"


class RetrievalTrace(Protocol):
    """What a run searched, as far as it was kept."""

    @property
    def documents(self) -> Mapping[str, str]:
        """The text of every document of the corpus by id; empty: not kept."""
        ...

    @property
    def passages(self) -> Mapping[str, Sequence[tuple[int, int]]] | None:
        """Start and end of every stored passage by document id; None: not told."""
        ...


@dataclass(frozen=True)
class ScoringInput:
    """One answered query with its gold side: what an evaluator scores."""

    query: Query
    reference: Reference
    record: RunRecord
    """Of status ok."""
    measures: tuple[Measure, ...]
    """What is to be scored: those of the evaluator's measures that apply."""
    searched: RetrievalTrace | None = None
    """The same for every case of a run; None: nothing of it was kept."""

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
    has_evidence: bool = True
    """False: no answer of the run names a sentence as its evidence."""


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

    async def evaluate(self, cases: Sequence[ScoringInput]) -> Iterable[Score]:
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
    weights: Callable[[Any], Mapping[str, str]] | None = None
    """weights(params) -> digest by name of whatever learnt weights it loads by itself, such as a parser: scores by
    others are not comparable."""
    preflight: Callable[[Any], None] | None = None
    """preflight(params) raises HarnessError where a package or file it needs is not there; quick, free."""
