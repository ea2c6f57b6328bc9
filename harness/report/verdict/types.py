"""The verdict as a value: what to choose, how sure that is, and what would change it. `verdict.json` holds it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Literal


class Outcome(StrEnum):
    CLEAR_WINNER = "clear_winner"
    """One run is significantly better than every other one."""
    CHEAPER = "as_good_and_cheaper"
    """A cheaper run is shown to be as good as the best."""
    EQUALLY_GOOD = "equally_good"
    """The leading runs are shown to be as good as each other."""
    LEADING = "leading"
    """The best mean leads, and its lead may be chance."""
    INCONCLUSIVE = "inconclusive"
    """Missing values decide which run is better."""
    TOO_FEW = "too_few_queries"
    """Too few queries for a lead to mean much."""
    NOT_ABOVE_BASELINE = "not_above_baseline"
    """No run is significantly better than an answer without documents."""
    MODEL_CANNOT_ANSWER = "model_cannot_answer"
    """Even with the gold evidence the model is not significantly better than without, so answers rank nothing."""
    NOTHING_RIGHT = "nothing_right"
    """Every run has the worst possible score on every query."""
    ONLY_BASELINES = "only_baselines"
    """No system was run, only baselines."""
    ONE_SYSTEM = "one_system"
    """There is nothing to compare with."""
    NOTHING_ANSWERED = "nothing_answered"
    """Every query failed, or none was asked yet."""
    NOT_SCORED = "not_scored"
    """No metric can rank the runs."""


UNFINISHED = "unfinished"
SCORED_OTHERWISE = "scored in another way"
"""By another judge or version, or with other parameters, than the runs that are ranked."""
Status = Literal["recommended", "as good", "tied", "worse here", "too few", "worse", "baseline", "not ranked"]
"""`worse here`: on these documents, maybe not on new ones. `too few`: over so few queries no difference can be
significant, so it is not called tied."""
OPEN: tuple[Status, ...] = ("tied", "worse here", "too few")
"""Neither shown to be worse than the best run nor as good."""
RIVALS: tuple[Status, ...] = ("as good", *OPEN, "worse")
"""Ranked and not recommended."""


@dataclass(frozen=True)
class Choice:
    place: int
    """Of the chosen run, see `Ranking.entrants`."""
    outcome: Outcome
    as_good: frozenset[int] = frozenset()
    """The places of runs that are shown to be as good."""
    recommends: bool = True
    """False: nothing shows which run to choose."""


@dataclass(frozen=True)
class Number:
    """A mean or a difference with its 95 % interval."""

    value: float
    low: float | None = None
    high: float | None = None
    at_least: bool = False
    """Whether it is a lower bound: not everything was counted."""
    mark: str = ""
    """Shown after it, such as that a pipeline reported it itself."""


@dataclass(frozen=True)
class Standing:
    system: str
    run_id: str
    """Empty for a constant answer."""
    status: Status
    why: str = ""
    score: Number | None = None
    """By the metric of the verdict."""
    n: int = 0
    """Queries in the score; those with the same text count once."""
    n_missing: int = 0
    """Queries among them without a value, which count as the worst."""
    why_unpriced: str = ""
    """Why its cost is not compared, as words to follow its name; empty if it is."""
    unranked: Number | None = None
    """Where retrieval ranks: its mean by the metric that should rank and cannot, over `n_unranked` queries."""
    n_unranked: int = 0
    behind: Number | None = None
    """Its score less that of the best run; its interval is for this comparison alone."""
    columns: dict[str, float | None] = field(default_factory=dict)
    """Title -> mean of other metrics, such as evidence found."""
    failed: float | None = None
    is_imported: bool = False
    """Whether the answers come from another tool."""
    seconds: Number | None = None
    """Median latency of a query."""
    tokens: Number | None = None
    """Mean of a query."""
    usd_per_1000: Number | None = None
    """Of 1,000 questions, without the index."""
    index_usd: Number | None = None
    index_tokens: Number | None = None


@dataclass(frozen=True)
class Cheaper:
    """A much cheaper run that may be as good."""

    system: str
    unit: str
    """`tokens`, `usd` or `latency_s`."""
    ratio: float
    """How many times as much the recommended run costs."""


@dataclass(frozen=True)
class TieBreak:
    """What decided between the recommended run and another one with the same score."""

    system: str
    """The other one."""
    by: str
    """The title of a metric of answers, or a cost: `tokens`, `usd` or `latency_s`."""
    own: float
    other: float
    is_share: bool = False
    is_shown: bool = True
    """Whether the difference is significant; a cost is not tested."""


@dataclass(frozen=True)
class ModelLimit:
    """A model that loses more with the gold evidence than a better system could gain."""

    baseline: str
    """The baseline that is given the evidence."""
    title: str
    share: float
    """By this metric of answers, with the evidence."""


@dataclass(frozen=True)
class MoreQueries:
    """How many more queries would show which of the leading runs is better, if they differ by the margin."""

    queries: int
    """In addition to those already asked."""
    minutes: float | None
    """To answer them with every leading run, one after the other."""
    usd: float | None
    available: int | None
    """How many more the data set has; None: unknown."""
    are_own: bool = False
    """Whether the questions are a file of the user, who can write more."""


@dataclass(frozen=True)
class Verdict:
    dataset: str
    digest: str
    n_queries: int
    n_questions: int
    """Distinct texts among them."""
    outcome: Outcome
    headline: str
    sentences: tuple[str, ...]
    """At most three."""
    n_unanswerable: int = 0
    """Queries without an answer in the documents that are in no score by which runs are ranked."""
    metric: str = ""
    metric_title: str = ""
    is_share: bool = False
    higher_is_better: bool = True
    is_by_evidence: bool = False
    """Whether retrieval ranks the runs because answers cannot."""
    unranked_title: str = ""
    """The metric that should rank and cannot; empty: the one that should rank does."""
    lower_baseline: str = ""
    """The better of the best constant answer and the baselines without documents."""
    margin: float = 0.0
    """In points: a run that is worse by less is as good."""
    recommended: str | None = None
    recommended_run: str | None = None
    probability: float | None = None
    """That the recommended run is within the margin of the best one."""
    at_most_worse: float | None = None
    """How far it may be behind another run, in the unit of the metric. None: unknown, or not at all."""
    cheaper: Cheaper | None = None
    tie_break: TieBreak | None = None
    model_limit: ModelLimit | None = None
    cost: str = ""
    """The cost by which runs are called cheaper: `usd`, `tokens` or `latency_s`; empty: unknown."""
    more: MoreQueries | None = None
    is_ceiling: bool = False
    """Whether the leading runs have the best possible value on every query: more like these settle nothing."""
    separated_by: str = ""
    """At the ceiling: a metric of the same evaluator by which those runs differ."""
    n_left: int = 0
    """Queries that no run was asked, because a budget was exhausted."""
    stopped_by: str = ""
    """That budget: `minutes`, `usd` or `tokens`."""
    standings: tuple[Standing, ...] = ()
    """The best first; then baselines and runs that are not ranked."""
    caveats: tuple[str, ...] = ()
    """What weakens it, the most harmful first."""

    @property
    def own(self) -> Standing | None:
        """That of the recommended run."""
        return self.standing_of(self.recommended)

    def standing_of(self, system: str | None) -> Standing | None:
        return next((one for one in self.standings if one.system == system), None)

    @property
    def leading(self) -> list[Standing]:
        """The recommended run and those that are not shown to be worse."""
        return [one for one in self.standings if one.status in {"recommended", "as good", *OPEN}]

    def leads(self, one: Standing | None, other: Standing | None) -> bool:
        """Whether the first has a better score than the other, which may be chance."""
        gap = one.score.value - other.score.value if one and other and one.score and other.score else 0.0
        return gap != 0 and (gap > 0) == self.higher_is_better

    def systems(self, *statuses: Status) -> list[str]:
        return [one.system for one in self.standings if one.status in statuses]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
