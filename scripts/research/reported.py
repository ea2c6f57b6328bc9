"""Simulated runs as a report reads them, and how often its verdict is right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import numpy as np
from simulated import WORLDS, Array, Check, Rng, Row, systems

from harness.core.records import Cost, EvaluationRecord, Query, Reference
from harness.protocols import Measure
from harness.report.measures import RankingChoice, known_measures
from harness.report.verdict.findings import find
from harness.report.verdict.types import Outcome, Verdict
from harness.report.view import Group, RunView
from harness.statistics.columnar_scores import ScoreColumns
from harness.statistics.difference_tests import ALPHA, mcnemar_p
from harness.statistics.estimate import MeasuredCost
from harness.statistics.non_inferior import MARGIN
from harness.statistics.query_values import QueryValues
from harness.statistics.run_frame import Frame
from harness.statistics.sampling_design import SamplingDesign
from harness.store import SCHEMA_VERSION, Manifest, RunDir, SampleRow

COPIES = 3
SPREADS = (0.02, 0.06, 0.12)
"""Standard deviations of true means between systems."""


def verdicts(check: Check) -> Iterator[Row]:
    """How often a verdict names a winner among equal systems, finds the better one, and recommends one within the
    margin of the best, beside the stated probability.
    """
    for n in check.sizes:
        for k in (2, 4, 9):
            for name in ("shares", "graded", "shares in the natural mix", "shares, luck by article"):
                yield from named_of_equals(check, n, k, name)
            yield from named_of_copies(check, n, k)
            yield from named_of_missing(check, n, k)
            yield from named_of_unequals(check, n, k)
            for name in ("shares", "shares, luck by article"):
                yield from within_margin(check, n, k, name)


def named_of_equals(check: Check, n: int, k: int, name: str) -> Iterator[Row]:
    def case(rng: Rng) -> tuple[bool, bool]:
        said = verdict(*systems(rng, n, (0.0,) * k, WORLDS[name]))
        return said.outcome == Outcome.CLEAR_WINNER, bool(said.systems("worse"))

    nominal = {
        f"{k} equal systems: one is named the winner, {name}": "at most .05",
        f"the same: any is called worse than the best, {name}": "at most .05",
    }
    return check.shares(nominal, n, case, max(1, k // 4))


def named_of_copies(check: Check, n: int, k: int) -> Iterator[Row]:
    """Each question several times, with the same answers."""

    def case(rng: Rng) -> tuple[bool]:
        values, drawn = systems(rng, max(8, n // COPIES), (0.0,) * k, WORLDS["shares"])
        said = verdict(np.repeat(values, COPIES, axis=0), _copied(drawn))
        return (said.outcome == Outcome.CLEAR_WINNER,)

    nominal = {f"{k} equal systems, each question {COPIES} times: one is named the winner": "at most .05"}
    return check.shares(nominal, n, case, max(1, k // 4))


def named_of_missing(check: Check, n: int, k: int) -> Iterator[Row]:
    """The last of equal systems has no value where it is wrong."""

    def case(rng: Rng) -> tuple[bool, bool]:
        values, drawn = systems(rng, n, (0.0,) * k, WORLDS["shares"])
        values[values[:, -1] == 0, -1] = np.nan
        said = verdict(values, drawn)
        won = said.outcome == Outcome.CLEAR_WINNER
        return won, won and said.recommended == f"s{k}"

    nominal = {
        f"{k} equal systems, one without values where it is wrong: one is named the winner": "at most .05",
        "the same: it is that one": "at most .05",
    }
    return check.shares(nominal, n, case, max(1, k // 4))


def named_of_unequals(check: Check, n: int, k: int) -> Iterator[Row]:
    """The first is better by 10 points. For comparison, the power of a test that knows which two to compare."""

    def case(rng: Rng) -> tuple[bool, bool, bool]:
        values, drawn = systems(rng, n, (0.1, *[0.0] * (k - 1)), WORLDS["shares"])
        said = verdict(values, drawn)
        won = said.outcome == Outcome.CLEAR_WINNER
        ahead = values[:, 0] - values[:, 1]
        one = mcnemar_p(int((ahead > 0).sum()), int((ahead < 0).sum())) <= ALPHA and ahead.mean() > 0
        return won and said.recommended == "s1", won and said.recommended != "s1", bool(one)

    nominal = {
        f"{k} systems, one better by 10 points: it is named the winner": "not promised",
        "the same: another is named the winner": "at most .05",
        "the same: McNemar's test of the best against one other": "not promised",
    }
    return check.shares(nominal, n, case, max(1, k // 4))


def within_margin(check: Check, n: int, k: int, name: str) -> Iterator[Row]:
    """True means are normal around a common one. A case counts as a draw with the stated probability, so that both
    rows have the same kind of interval.
    """

    def case(rng: Rng) -> tuple[bool, bool, bool]:
        ahead = rng.normal(0, SPREADS[int(rng.integers(len(SPREADS)))], k).clip(-0.25, 0.25)
        said = verdict(*systems(rng, n, tuple(ahead), WORLDS[name]))
        chosen = int((said.recommended or "s1")[1:]) - 1
        stated = 1.0 if said.probability is None else said.probability
        behind = float(ahead.max() - ahead[chosen])
        is_covered = behind <= (said.at_most_worse or 0.0)
        return behind <= MARGIN, bool(rng.random() < stated), is_covered

    nominal = {
        f"{k} systems: the recommended one is within 5 points of the best, {name}": "as stated",
        "the same: the probability that is stated": "as measured, within .05",
        "the same: it is at most as far behind as stated": ".975",
    }
    return check.shares(nominal, n, case, max(1, k // 4))


def verdict(values: Array, drawn: SamplingDesign) -> Verdict:
    """The verdict on simulated runs, by the code of the report. NaN: no value."""
    return find(group_of(values, drawn)).verdict


def _copied(drawn: SamplingDesign) -> SamplingDesign:
    """A design in which each query is asked several times in a row."""
    ids = list(drawn.types)
    new = [f"q{place:04d}" for place in range(len(ids) * COPIES)]
    types = {one: drawn.types[ids[place // COPIES]] for place, one in enumerate(new)}
    repeated = {one: new[place - place % COPIES] for place, one in enumerate(new) if place % COPIES}
    return SamplingDesign(types, drawn.type_mix, {}, repeated)


def group_of(values: Array, drawn: SamplingDesign) -> Group:
    """Finished runs `s1`, `s2` and so on as a report holds them after reading, without files. They are ranked by
    accuracy if every value is 0 or 1, else by token F1; no constant answer is right.
    """
    ids = list(drawn.types)
    measure = "accuracy" if set(np.unique(values[~np.isnan(values)])) <= {0.0, 1.0} else "token_f1"
    made = _made(measure)
    sample = {one: _sampled(one, drawn.types[one]) for one in ids}
    views = []
    for place, column in enumerate(values.T, start=1):
        asked = [
            (one, value) for one, value in zip(ids, column.tolist(), strict=True) if one not in drawn.repeated
        ]
        known = {one: value for one, value in asked if not np.isnan(value)}
        found = QueryValues.of(known, frozenset(one for one, _ in asked))
        views.append(_view(f"s{place}", drawn, sample, made, {measure: found}))
    return Group("made up", "", tuple(views), (), _known(measure), RankingChoice(measure, "as made up"))


@cache
def _known(measure: str) -> Mapping[str, Measure]:
    return known_measures([_made(measure)])


def _made(measure: str) -> EvaluationRecord:
    return EvaluationRecord(evaluator="answer", version="1", measures=(measure,), cost=Cost(wall_s=0.0))


def _sampled(query_id: str, query_type: str) -> SampleRow:
    reference = Reference(query_id=query_id, query_type=query_type, answers=())
    return SampleRow(query=Query(query_id=query_id, text=f"Is {query_id} so?"), reference=reference)


def _view(
    label: str,
    drawn: SamplingDesign,
    sample: Mapping[str, SampleRow],
    made: EvaluationRecord,
    values: Mapping[str, QueryValues],
) -> RunView:
    identity = {"system": {"name": label}, "dataset": {"name": "made up"}}
    about = {"index_id": "", "machine": {}, "packages": {}, "git_commit": "", "created_at": ""}
    config: dict[str, object] = {"measure": next(iter(values))}
    named = {"run_id": label, "identity": identity, "config": config, "dataset": {"name": "made up"}}
    manifest = Manifest.model_validate({"schema_version": SCHEMA_VERSION, **named, **about})
    return RunView(
        run=RunDir(Path("made-up") / label),
        manifest=manifest,
        label=label,
        is_finished=True,
        frame=Frame(
            label, label, "made up", drawn.types, drawn.type_mix, clusters=drawn.clusters, repeated=drawn.repeated
        ),
        sample=sample,
        rows=(),
        scored=tuple(values),
        scores=ScoreColumns({}, {}),
        notes=(),
        resources=None,
        evaluations=(made,),
        twins=(),
        latencies=(),
        spent=MeasuredCost(len(sample)),
        n_answered=len(sample),
        n_errors=0,
        unscored=frozenset(),
        briefs={},
        labelled={},
        values=values,
    )
