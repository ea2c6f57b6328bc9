"""Frames, scores and records of a few numbers."""

import itertools
from collections.abc import Mapping, Sequence

from records import FAILED, run_record

from harness.core.records import Cost, Prediction, RunRecord, Score, Usage
from harness.statistics.paired_comparison import MeasureComparison, PairedMeasure, compare_measure
from harness.statistics.query_values import QueryValues
from harness.statistics.run_frame import Aggregate, Frame
from harness.statistics.sampling_design import SamplingDesign

Values = Sequence[float | None]
"""Of queries q0000, q0001, ...; None: the measure applies, but there is no value."""


def frame(types: Mapping[str, int], mix: Mapping[str, int] | None = None, repeats: int = 1) -> Frame:
    """frame({"inference": 3}): queries `inference0` and so on; the mix is the sample's own unless given."""
    query_types = {f"{name}{number}": name for name, count in types.items() for number in range(count)}
    return Frame("run-1", "naive", "demo", query_types, dict(types) if mix is None else mix, repeats)


def find(rows: Sequence[Aggregate], measure: str, query_type: str = "overall") -> Aggregate:
    """The one row of a measure and query type."""
    (row,) = [row for row in rows if row.measure == measure and row.query_type == query_type]
    return row


def record(
    query_id: str, *, ok: bool = True, repeat: int = 0, usage: Mapping[str, Usage] | None = None, **cost: object
) -> RunRecord:
    """record("q0", wall_s=2, usage={"generator": Usage(...)}, ok=False)."""
    spent = Cost.model_validate({"wall_s": 1.0, "usage": dict(usage or {}), **cost})
    return run_record(query_id, Prediction(answer="x") if ok else FAILED, repeat=repeat, cost=spent)


def score(
    query_id: str, value: float | None, *, measure: str = "accuracy", repeat: int = 0, status: str = ""
) -> Score:
    """A scored value, or with None a failed one; `status` overrides."""
    chosen = status or ("failed" if value is None else "scored")
    return Score.model_validate(
        {"query_id": query_id, "repeat": repeat, "measure": measure, "status": chosen, "value": value}
    )


def measure(
    *runs: Values, higher: bool | None = True, is_cost: bool = False, ends: tuple[float, float] | None = None
) -> PairedMeasure:
    named = [{f"q{place:04d}": number for place, number in enumerate(run)} for run in runs]
    own = [{one: number for one, number in run.items() if number is not None} for run in named]
    values = tuple(QueryValues.of(known, frozenset(run)) for known, run in zip(own, named, strict=True))
    return PairedMeasure("m", higher, values, is_cost=is_cost, range=ends)


def compared(*runs: Values, documents: Sequence[str] = (), **measured: object) -> MeasureComparison:
    """All pairs of these runs; `documents`: those that the queries cite; `measured`: as in `measure`."""
    one = measure(*runs, **measured)  # type: ignore[arg-type]
    ids = sorted(one.runs[0].expected)
    design = SamplingDesign(clusters=dict(zip(ids, documents, strict=True)) if documents else {})
    places = itertools.combinations(range(len(runs)), 2)
    return compare_measure(one, dict.fromkeys(places, frozenset(ids)), design)


def right(count: int, n: int = 100) -> list[float]:
    return [1.0] * count + [0.0] * (n - count)
