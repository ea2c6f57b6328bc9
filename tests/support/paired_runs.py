"""Finished runs on disk with given scores, without a system or evaluator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from records import index_record

from harness.core.hashing import short_digest
from harness.core.records import (
    Annotation,
    Cost,
    Estimate,
    EvaluationRecord,
    Evidence,
    Failure,
    PhaseEstimate,
    Prediction,
    Query,
    RaceRecord,
    Reference,
    RunRecord,
    Score,
    Usage,
)
from harness.store import SCHEMA_VERSION, Dialect, Done, Journal, Manifest, RunDir, RunFile, SampleRow
from harness.store.annotations import opened_annotations
from harness.store.run_files import EXTENSION_FILES
from harness.store.run_rewriting import JsonObject

NOT_APPLICABLE = "not_applicable"
FAILED = "failed"
IMPUTED = "imputed"

PRIMARY_MEASURES = {"demo": "accuracy", "multihop_rag": "accuracy", "uda_qa": "token_f1"}
"""Primary metric of each data set."""

Value = float | str
"""A value, `FAILED` or `NOT_APPLICABLE`; `IMPUTED` is a failed query's 0."""


@dataclass
class ScoredRun:
    """The content of one run."""

    system: str = "naive"
    scores: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    """Metric -> one value per query, or per repeat of each query in turn."""
    queries: Sequence[str] = ()
    """Query ids; empty: q000, q001 and so on."""
    types: Sequence[str] = ("inference_query",)
    """Types of the queries, repeated in turn."""
    cites: Sequence[str] = ()
    """The document in each query's evidence, repeated in turn; empty: none."""
    type_mix: Mapping[str, int] = field(default_factory=dict)
    """Queries of each type in the whole data set."""
    finished: bool = True
    dataset: str = "demo"
    digest: str = "d" * 64
    texts: Mapping[str, str] = field(default_factory=dict)
    """Query id -> its text."""
    repeats: int = 1
    latency_s: Sequence[float] = (2.0,)
    """Latencies of the queries, repeated in turn."""
    input_tokens: int | None = 100
    """Tokens of the first query, one more for each next one; None: not counted."""
    usage: Mapping[str, Usage] | None = None
    """Usage of every answer by model role, instead of `input_tokens`."""
    baseline: str = ""
    """The reason why it is a baseline."""
    measure: str | None = None
    """The metric in its config."""
    primary_measure: str = ""
    """The primary metric of its data set; empty: as in `PRIMARY_MEASURES`."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """More keys of its config."""
    answer: Mapping[str, Any] = field(default_factory=dict)
    """The answer parameters of its system."""
    replayed: int = 0
    """Number of queries, from the first, answered from the journal."""
    gold: Sequence[str] = ()
    """Reference answers of the queries, repeated in turn; empty: a unique one for each."""
    said: Sequence[str] = ("Yes",)
    """Answers to the queries, repeated in turn."""
    unfinished: int = 0
    """Number of queries, from the last, without an answer; the run is then not closed."""
    name: str = ""
    """Name of the run directory; empty: by its identity."""
    generates: bool = True
    """False: it only retrieved."""
    evaluator: EvaluationRecord = field(
        default_factory=lambda: EvaluationRecord(evaluator="answer", version="1", cost=Cost(wall_s=0.0))
    )


def write_run(results: Path, plan: ScoredRun) -> RunDir:
    """The run directory of a plan."""
    n = max((len(values) for values in plan.scores.values()), default=1) // plan.repeats
    ids = list(plan.queries) or [f"q{number:03d}" for number in range(n)]
    sample = [_row(plan, query_id, number) for number, query_id in enumerate(ids)]
    run = RunDir.create(results, _manifest(plan), sample)
    for number, query_id in enumerate(ids[: len(ids) - plan.unfinished]):
        for repeat in range(plan.repeats):
            run.append_record(_record(plan, (query_id, repeat), number))
    run.write_scores(
        plan.evaluator.model_copy(update={"measures": tuple(plan.scores)}),
        [
            _score((query_id, repeat, measure), values[number * plan.repeats + repeat])
            for measure, values in plan.scores.items()
            for number, query_id in enumerate(ids)
            for repeat in range(plan.repeats)
        ],
    )
    if plan.finished and not plan.unfinished:
        run.mark_done(Done(n_expected=len(ids), n_ok=len(ids), n_error=0, finished_at="2026-11-20"))
    return run


def write_every_file(results: Path) -> RunDir:
    """A finished run with every file that a run can have."""
    run = write_run(results, ScoredRun(scores={"accuracy": [1.0, 0.0]}, finished=False, name="demo--a--1"))
    run.write_index(index_record(index_id="", built_by=run.run_id))
    phase = PhaseEstimate()
    run.write_estimate(Estimate(run_id=run.run_id, index=phase, answer=phase, n_answers=2, n_left=2))
    run.append_resources("time_s,phase", "1,answer")
    race = {"measure": "accuracy", "margin": 5, "alpha": 0.05, "n_queries": 2, "n_drawn": 2, "ended": "queries"}
    run.write_race(RaceRecord.model_validate({**race, "entrants": (run.run_id,), "left": (run.run_id,)}))
    run.keep_dialect("generator", Dialect(taken=("seed",)))
    run.keep_cluster_info(2)
    run.rename("first try")
    for name in EXTENSION_FILES:
        run.extension_file(name, JsonObject, "").write(JsonObject({"measured": 1}))
    with run.exclusive(), opened_annotations(run, "ada") as log:
        log.append([Annotation(query_id="q000", run=run.run_id, annotator="ada", dimension=None, note="odd")])
    Journal(run.journal_path).close()
    for name in (RunFile.LOG, RunFile.SERVER_LOG, RunFile.DAMAGED_RECORDS):
        (run.path / name).write_text("not read\n")
    run.mark_done(Done(n_expected=2, n_ok=2, n_error=0, finished_at="2026-11-20"), ("q000", "q001"))
    assert {*RunFile} <= {path.name for path in run.path.iterdir()}
    return RunDir(run.path)


def close_again(run: RunDir, *records: RunRecord) -> None:
    """Add these attempts to a finished run, and close it again."""
    (run.path / "done.json").unlink()
    for record in records:
        run.append_record(record)
    statuses = [record.status for record in run.records().values()]
    n_ok = statuses.count("ok")
    run.mark_done(
        Done(n_expected=len(statuses), n_ok=n_ok, n_error=len(statuses) - n_ok, finished_at="2026-11-20")
    )


def _row(plan: ScoredRun, query_id: str, number: int) -> SampleRow:
    query = Query(query_id=query_id, text=plan.texts.get(query_id, f"Is {query_id} so?"))
    query_type = plan.types[number % len(plan.types)]
    # Unique, so that no constant answer is right more than once.
    answers = (plan.gold[number % len(plan.gold)] if plan.gold else query_id,)
    cited = plan.cites[number % len(plan.cites)] if plan.cites else ""
    evidence = (Evidence(doc_id=cited, fact="It is so."),) if cited else ()
    reference = Reference(query_id=query_id, query_type=query_type, answers=answers, evidence=evidence)
    return SampleRow(query=query, reference=reference)


def _manifest(plan: ScoredRun) -> Manifest:
    identity: dict[str, Any] = {
        "dataset": {"name": plan.dataset, "subset": "default", "digest": plan.digest},
        "system": {"name": plan.system, "version": "1", "index": {}, "answer": dict(plan.answer)},
        "models": {"generator": {"provider": "openai", "model": "gpt-4o-mini"}} if plan.generates else {},
        "repeats": plan.repeats,
    }
    return Manifest(
        schema_version=SCHEMA_VERSION,
        run_id=plan.name or f"{plan.dataset}--{short_digest([identity])}",
        identity=identity,
        config={"evaluators": ["answer"], "measure": plan.measure, **plan.config},
        dataset={
            "name": plan.dataset,
            "n_queries": len(plan.queries) or max(map(len, plan.scores.values()), default=1) // plan.repeats,
            "type_mix": dict(plan.type_mix),
            "primary_measure": plan.primary_measure or PRIMARY_MEASURES.get(plan.dataset, ""),
        },
        index_id="",
        baseline=plan.baseline,
        machine={},
        packages={},
        git_commit="c0ffee",
        created_at="2026-11-20T10:00:00+00:00",
    )


def _record(plan: ScoredRun, key: tuple[str, int], number: int) -> RunRecord:
    usage = Usage(calls=1, unmetered_calls=1)
    if plan.input_tokens is not None:
        usage = Usage(calls=1, input_tokens=plan.input_tokens + number, output_tokens=5)
    failed = any(values[number * plan.repeats + key[1]] == IMPUTED for values in plan.scores.values())
    return RunRecord(
        query_id=key[0],
        repeat=key[1],
        status="error" if failed else "ok",
        prediction=None if failed else Prediction(answer=plan.said[number % len(plan.said)]),
        failure=Failure(kind="crash", message="it fell over") if failed else None,
        cost=Cost(
            wall_s=plan.latency_s[number % len(plan.latency_s)],
            usage={"generator": usage} if plan.usage is None else dict(plan.usage),
            replayed_calls=int(number < plan.replayed),
        ),
        attempt=1,
        started_at="2026-11-20T10:00:00+00:00",
    )


def _score(key: tuple[str, int, str], value: Value) -> Score:
    query_id, repeat, measure = key
    named = {FAILED: (FAILED, None), NOT_APPLICABLE: (NOT_APPLICABLE, None), IMPUTED: (IMPUTED, 0.0)}
    status, number = named[value] if isinstance(value, str) else ("scored", float(value))
    return Score.model_validate(
        {"query_id": query_id, "repeat": repeat, "measure": measure, "status": status, "value": number}
    )
