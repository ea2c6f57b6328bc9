"""A run as a report sees it, read once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from harness.core.errors import HarnessError
from harness.core.records import EvaluationRecord, IndexRecord, RaceRecord
from harness.display import counted, printable
from harness.evaluators.score_preconditions import is_null, stated_answers
from harness.protocols import Measure, ScoreLabel
from harness.registry import SYSTEMS
from harness.report.records import ABSTAINED, ERROR, TIMEOUT, Briefs, Sample
from harness.statistics.columnar_scores import ScoreColumns
from harness.statistics.correlation import TwinCorrelation
from harness.statistics.cost import TIMES, fails_too_often
from harness.statistics.estimate import MeasuredCost
from harness.statistics.query_values import COSTS, QueryValues
from harness.statistics.resource_usage import Resources
from harness.statistics.run_frame import OVERALL, Aggregate, Frame
from harness.store import Manifest, RunDir, SampleRow

_FEWEST_SHOWN = 0.9
"""Share of the answerable queries with evidence, below which answers from evidence are no ceiling: for the others
the model is shown nothing.
"""


@dataclass(frozen=True, eq=False)
class RunView:
    """A run as a report sees it; equal to no other one, so that it can be a key."""

    run: RunDir
    manifest: Manifest
    label: str
    is_finished: bool
    frame: Frame
    sample: Sample = field(repr=False)
    """Runs over the same queries share one object."""
    rows: tuple[Aggregate, ...]
    scored: tuple[str, ...]
    """The measures that evaluators scored; what else has a row is a cost."""
    scores: ScoreColumns = field(repr=False)
    notes: tuple[str, ...]
    resources: Resources | None
    evaluations: tuple[EvaluationRecord, ...]
    twins: tuple[TwinCorrelation, ...]
    """Correlations of metrics with those that stand in for them."""
    labelled: Mapping[str, Mapping[str, int]]
    """Measure -> label -> how many answers have it, of the measures that sort answers."""
    latencies: tuple[float, ...]
    """Seconds of each query that was answered live or timed out, ascending."""
    spent: MeasuredCost
    """The cost of all attempts together."""
    n_answered: int
    """(query, repeat) pairs that have a record."""
    n_errors: int
    unscored: frozenset[str]
    """Measures that were scored before every answer was there."""
    briefs: Briefs = field(repr=False)
    values: Mapping[str, QueryValues] = field(repr=False)
    """Metric or cost -> one number per query, which comparisons pair."""
    index: IndexRecord | None = None
    """Without the places of its passages, of which there are many; None: not built yet."""
    race: RaceRecord | None = None
    is_running: bool = False
    position: int = 0

    @property
    def left_race_after(self) -> int | None:
        """After how many queries it was eliminated from a race; None: it was not."""
        drops = self.race.dropped if self.race else ()
        return next((drop.after for drop in drops if drop.run_id == self.manifest.run_id), None)

    def row(self, measure: str, query_type: str = OVERALL) -> Aggregate | None:
        return self._by_key.get((measure, query_type))

    def row_beside(self, measure: str, other: Aggregate | None) -> Aggregate | None:
        """The row of a measure in the mix of query types of another one, else overall."""
        return self.row_in(other.query_type if other else OVERALL, measure)

    def row_in(self, mix: str, measure: str) -> Aggregate | None:
        """In a mix of query types, else overall."""
        row = self.row(measure, mix)
        return row if row is not None and row.mean is not None else self.row(measure)

    def value(self, measure: str) -> float | None:
        row = self.row(measure)
        return row.mean if row else None

    @cached_property
    def _by_key(self) -> dict[tuple[str, str], Aggregate]:
        return {(row.measure, row.query_type): row for row in reversed(self.rows)}

    def way(self, measure: str) -> str:
        """Identifies how a metric was scored; equal for runs whose scores may be compared."""
        return " ".join(scored_by(one) for one in self.evaluations if measure in one.measures)

    @property
    def n_expected(self) -> int:
        return len(self.frame.query_types) * self.frame.repeats

    @property
    def fails_too_often(self) -> bool:
        """Whether it fails so many queries that it is called neither the cheapest nor the fastest."""
        return fails_too_often(self.n_errors, self.n_answered)

    def became(self, query_id: str, status: int) -> bool:
        """Whether that is what became of the query in any repeat."""
        return any(self.briefs.status((query_id, repeat)) == status for repeat in range(self.frame.repeats))

    def has_answer(self, query_id: str) -> bool:
        return any(self.briefs.has_answer((query_id, repeat)) for repeat in range(self.frame.repeats))

    @cached_property
    def abstains_on(self) -> str:
        """`3 of 4 answerable queries`, if more than half: its costs are then those of abstentions; else empty."""
        references = (row.reference for row in self.sample.values())
        answerable = [one.query_id for one in references if stated_answers(one) and not is_null(one)]
        n = sum(self.became(query_id, ABSTAINED) for query_id in answerable)
        whole = counted(len(answerable), "answerable query", "answerable queries")
        return f"{n:,} of {whole}" if 2 * n > len(answerable) else ""

    @cached_property
    def why_no_ceiling(self) -> str:
        """Of a baseline that is given the gold evidence, why it is no ceiling here; empty: it is, or is none."""
        return lacks_evidence(self.sample.values()) if sees_gold(self.manifest) else ""

    @property
    def why_unpriced(self) -> str:
        """Why the cost of its answers cannot be compared, as words to follow its name; empty if it can."""
        if self.fails_too_often:
            return "failed too often for its costs to be compared"
        if self.abstains_on:
            return f"abstained on {self.abstains_on}, so its costs are not those of answers"
        return ""

    def why_not_compared(self, measure: str) -> str:
        """Why it cannot be compared by a metric, as words to follow its name; empty if it can."""
        if measure in COSTS and self.why_unpriced:
            return self.why_unpriced
        found = self.values.get(measure, QueryValues.of({}, frozenset()))
        # Our own runs lack the times of replayed answers; why those of imported ones are missing is not known.
        lacks_times = measure in TIMES and self.manifest.is_imported and len(found) < len(found.expected)
        if found and found.is_comparable(measure) and not lacks_times:
            return ""
        return f"has a value for {len(found):,} of {len(found.expected):,} queries only"

    def why_not_ranked(self, measure: str) -> str:
        """Why it is not ranked by a metric of which it has values, as words to follow its name; empty if it is."""
        after = self.left_race_after
        if not self.is_complete or after is not None:
            return "is not finished" if after is None else f"left the race after {after:,} queries"
        if measure in self.unscored:
            name = printable(self.run.run_id, 200)
            return f"was scored before every answer was there: run `rag-harness evaluate {name}`"
        return self.why_not_compared(measure)

    def over(self, sample: Sample) -> RunView:
        """The values and failures of a part of its queries; the means are still over all of them."""
        if len(sample) == len(self.sample):
            return self
        statuses = [self.briefs.status(key) for key in self.briefs if key[0] in sample]
        return replace(
            self,
            sample=sample,
            values={name: own.only(sample) for name, own in self.values.items()},
            n_answered=len(statuses),
            n_errors=sum(status in {ERROR, TIMEOUT} for status in statuses),
        )

    @property
    def is_complete(self) -> bool:
        """Whether every answer is there and the run was closed; incomplete runs are not compared."""
        return self.is_finished and self.n_answered >= self.n_expected

    @property
    def shown(self) -> str:
        return self.label if self.is_complete else f"{self.label} (not finished)"

    @property
    def is_baseline(self) -> bool:
        """Whether it is a mark to read the others by, which does not compete with them."""
        return bool(self.manifest.baseline)

    def n_labelled(self, measure: Measure, label: ScoreLabel) -> int:
        return self.labelled.get(measure.name, {}).get(label.name, 0)

    @property
    def foreign_cpu(self) -> float | None:
        cores = self.manifest.machine.get("cores")
        return self.resources.foreign_cpu("answer", cores) if self.resources and isinstance(cores, int) else None

    def model(self, role: str) -> str:
        played_by = self.manifest.model(role)
        names = (played_by.get("provider"), played_by.get("model"))
        return "/".join(dict.fromkeys(printable(str(name)) for name in names if name)) or "none"


def scored_by(evaluation: EvaluationRecord) -> str:
    """Identifies an evaluation; equal for two whose scores may be compared."""
    return f"{evaluation.version} {evaluation.params!r} {evaluation.models!r} {evaluation.weights!r}"


def sees_gold(manifest: Manifest) -> bool | None:
    """Whether its system is given the reference evidence; None if that system is not installed."""
    try:
        return SYSTEMS.load(str(manifest.system.get("name"))).sees_gold
    except HarnessError:
        return None


def lacks_evidence(rows: Iterable[SampleRow]) -> str:
    """Why a baseline that is given the reference evidence is no ceiling for these queries; empty: it is one."""
    answerable = [row.reference for row in rows if not is_null(row.reference)]
    shown = sum(any(item.fact.strip() for item in one.evidence) for one in answerable)
    if shown >= _FEWEST_SHOWN * len(answerable):
        return ""
    return (
        f"Of {counted(len(answerable), 'answerable query', 'answerable queries')} {shown:,} have evidence in "
        "words: it was shown nothing for the others, so it is no ceiling here."
    )
