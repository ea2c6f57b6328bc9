"""Runs on disk for tests of the explorer: with given queries, records and scores."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paired_runs import PRIMARY_MEASURES

from harness.core.records import (
    Context,
    Cost,
    EvaluationRecord,
    Evidence,
    Failure,
    Prediction,
    Query,
    Reference,
    RunRecord,
    Score,
    Step,
    Usage,
)
from harness.report.page.explorer import Explorer, build_explorer
from harness.report.view import load_groups
from harness.statistics.prices import load_prices
from harness.store import SCHEMA_VERSION, Manifest, RunDir, SampleRow

COST = Cost(
    wall_s=2.0,
    throttled_s=0.5,
    stages_s={"retrieve": 0.25, "generate": 1.25},
    usage={"generator": Usage(calls=2, input_tokens=1200, output_tokens=7)},
    replayed_calls=1,
)


@dataclass
class Asked:
    """One query."""

    query_id: str
    text: str = "Is it so?"
    query_type: str = "inference"
    gold: tuple[str, ...] = ("Yes",)
    evidence: tuple[Evidence, ...] = ()


@dataclass
class Answers:
    """One run: record and scores by query id and repeat; a query that is missing has no record."""

    system: str
    records: Mapping[tuple[str, int], RunRecord]
    scores: Sequence[Score] = ()
    repeats: int = 1
    evaluator: str = "answer"
    binary: tuple[str, ...] = ()
    shown_as: str = ""
    """Name of the system if it is not a valid folder name."""
    model: str = "fake"
    dataset: str = "demo"


@dataclass
class Said:
    """The content of a record."""

    answer: str | None = "Yes"
    contexts: tuple[Context, ...] = ()
    trace: tuple[Step, ...] = ()
    evidence: tuple[Context, ...] = field(default=())


def record(query_id: str, said: Said | Failure, repeat: int = 0) -> RunRecord:
    """A record of a system's answer or failure."""
    base: dict[str, Any] = {"query_id": query_id, "repeat": repeat, "cost": COST, "attempt": 1, "started_at": ""}
    if isinstance(said, Failure):
        return RunRecord(**base, status="timeout" if said.kind == "timeout" else "error", failure=said)
    prediction = Prediction(answer=said.answer, contexts=said.contexts, evidence=said.evidence, trace=said.trace)
    return RunRecord(**base, status="ok", prediction=prediction)


def records(said: Mapping[str, Said | Failure]) -> dict[tuple[str, int], RunRecord]:
    """Records of a run without repeats."""
    return {(query_id, 0): record(query_id, one) for query_id, one in said.items()}


def score(
    query_id: str,
    value: float | str,
    measure: str = "accuracy",
    *,
    repeat: int = 0,
    why: str = "",
    label: str = "",
) -> Score:
    """A value, or a status: failed, not_applicable; `imputed` is 0."""
    status, number = (value, 0.0 if value == "imputed" else None) if isinstance(value, str) else ("scored", value)
    return Score.model_validate(
        {
            "query_id": query_id,
            "repeat": repeat,
            "measure": measure,
            "status": status,
            "value": number,
            "explanation": why,
            "label": label,
        }
    )


def explorer_of(results: Path, asked: Sequence[Asked], runs: Sequence[Answers], **options: Any) -> Explorer:
    """The explorer of these runs."""
    written = [write_run(results, asked, run) for run in runs]
    (group,) = load_groups(written, load_prices())
    return build_explorer(group, "g0", **options)


def write_run(results: Path, asked: Sequence[Asked], answers: Answers) -> RunDir:
    """The run directory."""
    sample = [
        SampleRow(
            query=Query(query_id=one.query_id, text=one.text),
            reference=Reference(
                query_id=one.query_id, query_type=one.query_type, answers=one.gold, evidence=one.evidence
            ),
        )
        for one in asked
    ]
    manifest = _manifest(answers)
    shutil.rmtree(results / manifest.run_id, ignore_errors=True)
    run = RunDir.create(results, manifest, sample)
    for one in answers.records.values():
        run.append_record(one)
    measures = tuple(dict.fromkeys(one.measure for one in answers.scores))
    if measures:
        evaluation = EvaluationRecord(
            evaluator=answers.evaluator,
            version="1",
            measures=measures,
            binary=answers.binary,
            cost=Cost(wall_s=0.0),
        )
        run.write_scores(evaluation, answers.scores)
    return run


def _manifest(answers: Answers) -> Manifest:
    dataset = {"name": answers.dataset, "digest": "d" * 64}
    return Manifest(
        schema_version=SCHEMA_VERSION,
        run_id=f"demo--{answers.system}",
        identity={
            "dataset": dataset,
            "system": {"name": answers.shown_as or answers.system, "version": "1", "index": {}, "answer": {}},
            "models": {"generator": {"provider": "fake", "model": answers.model}},
            "repeats": answers.repeats,
        },
        config={},
        dataset={**dataset, "primary_measure": PRIMARY_MEASURES.get(answers.dataset, "")},
        index_id="",
        machine={},
        packages={},
        git_commit="c0ffee",
        created_at="2026-11-20T10:00:00+00:00",
    )
