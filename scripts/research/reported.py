"""Made-up runs as a report holds them once it has read their files, and how often its headline is right."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from simulated import WORLDS, Array, Check, Rng, Row, systems

from harness.core.records import Cost, EvaluationRecord, Query, Reference
from harness.protocols import Measure
from harness.report.measures import RankingChoice, known_measures
from harness.report.view import Group, RunView
from harness.report.words.findings import find
from harness.statistics import Frame
from harness.statistics.estimates import Spent
from harness.statistics.non_inferior import MARGIN
from harness.statistics.paired_values import QueryValues
from harness.statistics.sampling_design import SamplingDesign
from harness.statistics.score_columns import ScoreColumns
from harness.store import SCHEMA_VERSION, Manifest, RunDir, SampleRow


def headlines(check: Check) -> Iterator[Row]:
    """How often it names one of equal systems, or another than the better one."""
    for n in check.sizes:
        for k in (4, 9):
            for name in ("shares", "graded", "shares in the natural mix"):
                yield from named_of_equals(check, n, k, name)
            for name in ("shares, luck by article", "graded, luck by article"):
                yield from named_with_luck(check, n, k, name)
            for name in ("shares", "graded"):
                yield from named_of_unequals(check, n, k, name)

        def within(rng: Rng, n: int = n) -> tuple[bool, bool]:
            said = headline(rng, n, (-MARGIN, 0.0, 0.0, 0.0), "shares")
            return said.as_good and (said.among == 4 or "s1" in said.named), said.as_good

        yield from check.shares(
            {
                "headline of 4, one worse by the margin: it is 'within 5 points', shares": "at most .025",
                "the same: any of the others are, shares": "not promised",
            },
            n,
            within,
        )


def named_of_equals(check: Check, n: int, k: int, name: str) -> Iterator[Row]:
    def case(rng: Rng) -> tuple[bool, bool]:
        said = headline(rng, n, (0.0,) * k, name)
        return bool(said.leader), said.among < k

    nominal = {
        f"headline of {k} equal systems names a leader, {name}": "at most .05",
        f"the same: names a leader or calls any worse, {name}": "at most .05",
    }
    return check.shares(nominal, n, case, k // 4)


def named_with_luck(check: Check, n: int, k: int, name: str) -> Iterator[Row]:
    """Systems that are equal over all documents there could be, and are not on those at hand."""

    def case(rng: Rng) -> tuple[bool, bool]:
        said = headline(rng, n, (0.0,) * k, name)
        return bool(said.leader) and said.on_new, bool(said.leader) and not said.on_new

    nominal = {
        f"headline of {k} equal systems names a leader 'also on new documents', {name}": "at most .05",
        f"the same: names one 'on these documents', {name}": "not promised",
    }
    return check.shares(nominal, n, case, k // 4)


def named_of_unequals(check: Check, n: int, k: int, name: str) -> Iterator[Row]:
    def case(rng: Rng) -> tuple[bool, bool]:
        said = headline(rng, n, (0.1, *[0.0] * (k - 1)), name)
        return said.leader == "s1", said.leader not in {"", "s1"}

    nominal = {
        f"headline of {k}, one better by 10 points: names it, {name}": "not promised",
        f"the same: names another, {name}": "at most .05",
    }
    return check.shares(nominal, n, case, k // 4)


class Said(NamedTuple):
    """What a headline says."""

    leader: str = ""
    """Empty: it names none."""
    named: tuple[str, ...] = ()
    among: int = 1
    """So many it holds for the best or as good; it calls the others worse."""
    as_good: bool = False
    on_new: bool = False
    """It says "also on new documents"."""


def headline(rng: Rng, n: int, ahead: tuple[float, ...], name: str) -> Said:
    """Of made-up runs in that world, by the code that makes a report's."""
    return understood(find(group_of(*systems(rng, n, ahead, WORLDS[name]))).headline)


def understood(sentence: str) -> Said:
    """ValueError for a sentence of a kind that is not known here, which would be miscounted."""
    words = re.split(r" in (?:accuracy|token F1) \(", sentence)[0]
    names = tuple(re.findall(r"\bs\d+\b", words))
    if found := re.fullmatch(r"Choose (s\d+): best", words):
        return Said(found[1], names, on_new="also on new documents" in sentence)
    if found := re.fullmatch(r"Undecided between (\d+) systems", words):
        return Said(among=int(found[1]))
    if re.fullmatch(r"Undecided between s\d+ and s\d+", words):
        return Said(named=names, among=2)
    if found := re.fullmatch(r"s\d+(?:, s\d+)* or (?:s\d+|(\d+) others), within (?:5 points|0\.05)", words):
        return Said(named=names, among=len(names) + int(found[1] or 0), as_good=True)
    raise ValueError(sentence)


def group_of(values: Array, drawn: SamplingDesign) -> Group:
    """Finished runs `s1`, `s2` and so on as a report holds them once it has read their files, of which there are
    none. They are ranked by accuracy where every value is 0 or 1, else by token F1; no constant answer is right.
    """
    ids = list(drawn.types)
    measure = "accuracy" if set(np.unique(values)) <= {0.0, 1.0} else "token_f1"
    made = _made(measure)
    sample = {one: _sampled(one, drawn.types[one]) for one in ids}
    views = []
    for place, column in enumerate(values.T, start=1):
        found = QueryValues(dict(zip(ids, column.tolist(), strict=True)), frozenset(ids))
        views.append(_view(f"s{place}", drawn, sample, made, {measure: found}))
    return Group("made up", "", tuple(views), (), _known(measure), RankingChoice(measure, "as made up"))


@cache
def _known(measure: str) -> Mapping[str, Measure]:
    return known_measures([_made(measure)])


def _made(measure: str) -> EvaluationRecord:
    return EvaluationRecord(evaluator="answer", version="1", measures=(measure,), cost=Cost(wall_s=0.0))


def _sampled(query_id: str, query_type: str) -> SampleRow:
    reference = Reference(query_id=query_id, query_type=query_type, answers=())
    return SampleRow(query=Query(query_id=query_id, text="Is it so?"), reference=reference)


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
        frame=Frame(label, label, "made up", drawn.types, drawn.type_mix, clusters=drawn.clusters),
        sample=sample,
        rows=(),
        scored=tuple(values),
        scores=ScoreColumns({}, {}),
        notes=(),
        resources=None,
        evaluations=(made,),
        twins=(),
        judged={},
        latencies=(),
        spent=Spent(len(sample)),
        n_answered=len(sample),
        n_errors=0,
        unscored=frozenset(),
        briefs={},
        labelled={},
        values=values,
    )
