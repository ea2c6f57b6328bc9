"""Runs on disk, made through the store as the runner makes them."""

import os
import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from paired_runs import PRIMARY_MEASURES
from scoring import score_run_answers

from harness.config import BenchConfig
from harness.core.hashing import short_digest
from harness.core.records import (
    Cost,
    Failure,
    IndexRecord,
    IndexStats,
    Prediction,
    Query,
    Reference,
    RunRecord,
    Usage,
)
from harness.display.plotting import NewFigure, plotting
from harness.store import SCHEMA_VERSION, Done, Manifest, RunDir, SampleRow

HEADER = (
    "time_s,phase,machine_cpu_percent,machine_ram_bytes,system_cpu_percent,system_rss_bytes,"
    "server_cpu_percent,server_rss_bytes,database_cpu_percent,database_rss_bytes"
)
MULTIHOP = {"comparison_query": 856, "inference_query": 816, "null_query": 301, "temporal_query": 583}
OPENAI = {"provider": "openai", "model": "gpt-4o-mini", "temperature": 0.0, "max_tokens": 256, "seed": 0}
MINILM = {"provider": "minilm", "model": "minilm"}


@pytest.fixture(autouse=True)
def nothing_is_synced(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thousands of records that tests here write need not outlive a loss of power."""
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)


@dataclass
class RunPlan:
    """What a test wants to be different from an unremarkable, finished run."""

    system: str = "naive"
    answer: Mapping[str, Any] = field(default_factory=lambda: {"top_k": 10})
    generator: Mapping[str, Any] = field(default_factory=lambda: OPENAI)
    types: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(MULTIHOP, 5))
    right: Mapping[str, float] = field(default_factory=dict)
    """Share of right answers by type; 0.8 where left out."""
    digest: str = "d" * 64
    repeats: int = 1
    failing: int = 0
    """So many of the first queries end in an error."""
    missing: int = 0
    """So many of the last queries have no record yet."""
    failure: Failure = field(default_factory=lambda: Failure(kind="ValueError", message="no JSON in the reply"))
    dataset: str = "multihop_rag"
    notes: tuple[str, ...] = ()
    question: str = "Is {} so?"
    indexed: bool = True
    reused_from: str | None = None
    index_cost: Cost | None = None
    baseline: str = ""
    evaluated: bool = True
    sessions: tuple[int, ...] = (40,)
    """Resource samples in each session; an hour lies between sessions."""
    server: bool = False
    latency_s: float = 4.0
    usage: Usage = field(default_factory=lambda: Usage(calls=1, input_tokens=2200, output_tokens=8))
    config: Mapping[str, Any] | None = None
    cores: int = 2
    git_commit: str = "c0ffee"


def build_run(results: Path, plan: RunPlan) -> RunDir:
    """The run directory of a plan."""
    manifest = _manifest(plan)
    sample = _sample(plan)
    shutil.rmtree(results / manifest.run_id, ignore_errors=True)
    run = RunDir.create(results, manifest, sample)
    keys = [(row, repeat) for repeat in range(plan.repeats) for row in sample]
    rng = random.Random(manifest.run_id)
    answered = keys[: len(keys) - plan.missing]
    for number, (row, repeat) in enumerate(answered):
        run.append_record(_record(plan, row, (number, repeat), rng))
    if plan.indexed:
        run.write_index(_index(plan, run.run_id))
    _write_resources(run, plan)
    if not plan.missing:
        n_error = min(plan.failing, len(keys))
        done = Done(n_expected=len(keys), n_ok=len(keys) - n_error, n_error=n_error, finished_at="2026-11-20")
        run.mark_done(done)
    if plan.evaluated:
        score_run_answers(run)
    return run


def _manifest(plan: RunPlan) -> Manifest:
    system = {"name": plan.system, "version": "1", "index": {"chunk_size": 1200}, "answer": dict(plan.answer)}
    dataset = {"name": plan.dataset, "subset": "default", "digest": plan.digest}
    identity = {
        "schema": 1,
        "dataset": dataset,
        "system": system,
        "models": {"generator": dict(plan.generator), "embedder": MINILM},
        "seed": 0,
        "repeats": plan.repeats,
        "limits": {"query_timeout_s": 600.0, "concurrency": 1},
    }
    config = BenchConfig.model_validate(
        {"systems": [plan.system], "dataset": {"name": plan.dataset}, "answer": dict(plan.answer)}
    )
    return Manifest(
        schema_version=SCHEMA_VERSION,
        run_id=f"{plan.dataset}--{plan.system}--{short_digest([identity, plan.missing, plan.failing])}",
        identity=identity,
        config=dict(plan.config) if plan.config is not None else config.model_dump(mode="json"),
        dataset={
            **dataset,
            "n_queries": sum(plan.types.values()),
            "n_documents": 609,
            "type_mix": {name: MULTIHOP.get(name, 1) for name in plan.types},
            "sample": {"per_type": 5, "seed": 42},
            "corpus": "full",
            "primary_measure": PRIMARY_MEASURES.get(plan.dataset, ""),
            "notes": list(plan.notes),
        },
        index_id="0123456789ab",
        baseline=plan.baseline,
        machine={"processor": "test", "cores": plan.cores, "ram_bytes": 8_000_000_000},
        packages={"numpy": "2.4.6"},
        git_commit=plan.git_commit,
        created_at="2026-11-20T10:00:00+00:00",
    )


def _sample(plan: RunPlan) -> list[SampleRow]:
    rows = []
    for query_type, count in plan.types.items():
        gold = "Insufficient information." if query_type.startswith("null") else "Yes"
        for number in range(count):
            query_id = f"{query_type}-{number:03d}"
            reference = Reference(query_id=query_id, query_type=query_type, answers=(gold,))
            query = Query(query_id=query_id, text=plan.question.format(query_id))
            rows.append(SampleRow(query=query, reference=reference))
    return rows


def _record(plan: RunPlan, row: SampleRow, place: tuple[int, int], rng: random.Random) -> RunRecord:
    number, repeat = place
    failed = number < plan.failing
    right = rng.random() < plan.right.get(row.reference.query_type, 0.8)
    answer = row.reference.answers[0] if right else "Paris"
    latency = plan.latency_s * rng.uniform(0.7, 1.6)
    return RunRecord(
        query_id=row.query.query_id,
        repeat=repeat,
        status=("timeout" if plan.failure.kind == "timeout" else "error") if failed else "ok",
        prediction=None if failed else Prediction(answer=None if plan.generator["provider"] == "none" else answer),
        failure=plan.failure if failed else None,
        cost=Cost(
            wall_s=latency,
            stages_s={"retrieve": latency / 10, "generate": latency * 0.9},
            usage={} if plan.generator["provider"] == "none" else {"generator": plan.usage},
        ),
        attempt=1,
        started_at="2026-11-20T10:00:00+00:00",
    )


def _index(plan: RunPlan, run_id: str) -> IndexRecord:
    usage = {"embedder": Usage(calls=207, input_tokens=1_324_800)}
    return IndexRecord(
        index_id="0123456789ab",
        stats=IndexStats(documents=609, chunks=6624),
        cost=plan.index_cost or Cost(wall_s=42.5, usage=usage, peak_rss_bytes=410_000_000, embedded_texts=6624),
        bytes_on_disk=51_000_000,
        built_by=plan.reused_from or run_id,
        reused_from=plan.reused_from,
    )


def _write_resources(run: RunDir, plan: RunPlan) -> None:
    rng, now = random.Random(1), 1_763_632_800.0
    for session, count in enumerate(plan.sessions):
        for number in range(count):
            now += 2.0
            phase = "index" if session == 0 and number < count // 4 else "answer"
            busy = 85 if phase == "index" else 35
            machine = f"{busy + rng.uniform(-8, 8):.1f},{4_000_000_000 + number * 5_000_000}"
            system = f"{busy * 1.5 + rng.uniform(-8, 8):.1f},{300_000_000 + number * 3_000_000}"
            server = f"{rng.uniform(20, 120):.1f},{900_000_000}" if plan.server else ","
            run.append_resources(HEADER, f"{now:.3f},{phase},{machine},{system},{server},,")
        now += 3600.0


@pytest.fixture
def new_figure() -> Iterator[NewFigure]:
    with plotting() as made:
        yield made


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., RunDir]:
    """make_run(system="kg", failing=3, ...): see `RunPlan`."""

    def make(**wishes: Any) -> RunDir:
        return build_run(tmp_path / "results", RunPlan(**wishes))

    return make
