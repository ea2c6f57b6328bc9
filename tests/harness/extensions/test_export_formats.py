"""Runs in the formats of other tools: each is read back by the library that it is for, with the same numbers."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any
from urllib.parse import unquote

import ir_measures
import paired_runs
import pandas as pd
import pytest
from command_line import CommandLineHere
from paired_runs import IMPUTED
from scoring import build_scorer, evaluation, scores_of_run

import harness.api as rag
from harness.core.records import Context, Document, Failure, Prediction, Usage
from harness.datasets.judged import beir
from harness.evaluators import answer, retrieval
from harness.extensions.runs import other_formats
from harness.protocols import no_progress
from harness.store import Done, RunDir
from harness.store.call_journal import CallKey, Journal, StoredCall
from harness.store.index_dir import Corpora, corpus_digest

pytestmark = pytest.mark.slow
RUN = "demo--theirs--0123456789"
N = 20


def hostile(name: str) -> str:
    """An id that would break a line, or a field of one, or be a formula."""
    return f"={name}\n9 Q0\tx\u2028%20 "


DOCUMENTS = [Document(doc_id=hostile(f"d{n}"), title=f"Title {n}", text=f"Text\u2028{n}.") for n in range(9)]


def write_run(results: Path) -> RunDir:
    """A scored run over documents with hostile ids: every fifth query failed, every fourth is unanswerable."""
    doc_ids = [one.doc_id for one in DOCUMENTS]
    plan = paired_runs.ScoredRun(
        system="theirs",
        name=RUN,
        queries=[hostile(f"q{n}") for n in range(N)],
        gold=("yes", "no"),
        cites=[*doc_ids[:3], ""],
        scores={"accuracy": [IMPUTED if n % 5 == 0 else 1.0 for n in range(N)]},
        config={"dataset": {"path": "/home/ada/docs"}},
        answer={"top_k": 3},
        input_tokens=90,
    )
    plain = paired_runs.write_run(results.with_name("plain"), plan)
    manifest, sample, digest = plain.manifest(), plain.sample(), corpus_digest(DOCUMENTS)
    Corpora(results).save(digest, DOCUMENTS)
    about = {**manifest.dataset, "corpus_digest": digest, "subset": "default", "digest": plan.digest}
    run = RunDir.create(results, manifest.model_copy(update={"dataset": about}), sample)
    for n, record in enumerate(plain.records().values()):
        ranked = [doc_ids[n % 9], *(one.doc_id for one in sample[n].reference.evidence), doc_ids[3 * n % 9]]
        contexts = tuple(Context(text=f"text of {one}", doc_ids=(one,)) for one in ranked)
        said = Prediction(answer="yes" if n % 3 else "no\x1f idea", contexts=contexts)
        failure = Failure(kind="OSError", message="no file /home/ada/x.txt")
        changes = {"failure": failure} if record.failure else {"prediction": said}
        run.append_record(record.model_copy(update=changes))
    run.mark_done(Done(n_expected=N, n_ok=N - N // 5, n_error=N // 5, finished_at=manifest.created_at))
    for spec in (answer.SPEC, retrieval.SPEC):
        scorer = build_scorer(spec)
        names = tuple(one.name for one in scorer.measures)
        written = evaluation(spec.name).model_copy(update={"measures": names, "version": spec.version})
        run.write_scores(written, scores_of_run(run, scorer))
    journal = Journal(run.journal_path, payer=RUN)
    usage = Usage(calls=1, input_tokens=90, output_tokens=7)
    call = StoredCall("gpt-4o-mini", b"{}", b"{}", usage, 1.25, manifest.created_at)
    journal.add(CallKey(f"answer/{sample[1].query.query_id}/0/1", "generator", "d", 1), call)
    journal.close()
    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("exports")
    write_run(place / "results")
    return place


@pytest.fixture
def cli(folder: Path, tmp_path: Path) -> CommandLineHere:
    return CommandLineHere(folder, {"COLUMNS": "200", "RAG_HARNESS_CACHE": str(tmp_path / "cache")})


def means(run: RunDir) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for score in run.scores():
        if score.value is not None:
            found.setdefault(score.measure, []).append(score.value)
    return {name: fmean(values) for name, values in found.items()}


def from_parquet(run: RunDir, out: Path) -> None:
    scores, records = (pd.read_parquet(out / f"{name}.parquet") for name in ("scores", "records"))
    assert scores.groupby("measure")["value"].mean().dropna().to_dict() == pytest.approx(means(run))
    assert (records["status"] == "error").sum() == len(run.sample()[::5])
    assert set(records["query_id"]) == {row.query.query_id for row in run.sample()}
    frame = rag.load(run.path).scored_records
    assert frame["nDCG@10"].mean() == pytest.approx(means(run)["nDCG@10"])
    assert "path" not in pd.read_parquet(out / "runs.parquet")


def ndcg(run: RunDir, qrels: Any, ranked: Any) -> None:
    theirs = {"nDCG@10": ir_measures.nDCG @ 10, "Recall@10": ir_measures.R @ 10}
    found = ir_measures.calc_aggregate(theirs.values(), qrels, ranked)
    ours = means(run)
    assert [found[own] for own in theirs.values()] == pytest.approx([ours[name] for name in theirs])


def from_trec(run: RunDir, out: Path) -> None:
    library: Any = ir_measures
    qrels = list(library.read_trec_qrels(str(out / "qrels.txt")))
    ranked = list(library.read_trec_run(str(out / f"{RUN}.run")))
    ndcg(run, qrels, ranked)
    named = {unquote(one.query_id) for one in ranked} | {unquote(one.query_id) for one in qrels}
    assert named <= {row.query.query_id for row in run.sample()}
    cited = {one.doc_id for row in run.sample() for one in row.reference.evidence}
    assert {unquote(one.doc_id) for one in qrels} == cited


def from_beir(run: RunDir, out: Path) -> None:
    raw = beir.load("test", beir.BeirParams(path=out), no_progress)
    texts = {unquote(row.query.query_id): row.query.text for row in raw.rows}
    asked = {row.query.query_id: row.query.text for row in run.sample() if row.reference.evidence}
    assert texts == asked
    assert [one.text for one in raw.documents] == [one.text for one in DOCUMENTS]
    qrels = {row.query.query_id: {one.doc_id: 1 for one in row.reference.evidence} for row in raw.rows}
    cells = (out / "qrels" / "test.tsv").read_text("utf-8").split()
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
    ndcg(run, qrels, json.loads((out / "results" / f"{RUN}.json").read_text()))


def from_ragas(run: RunDir, out: Path) -> None:
    from ragas import EvaluationDataset

    samples = EvaluationDataset.from_jsonl(out / f"{RUN}.jsonl").samples
    records = run.records()
    for row, found in zip(run.sample(), samples, strict=True):
        said = records[row.query.query_id, 0].prediction
        assert (found.user_input, found.response) == (row.query.text, said.answer if said else None)
        assert found.retrieved_contexts == ([one.text for one in said.contexts] if said else None)
        assert found.reference == next(iter(row.reference.answers), None)
    lines = [json.loads(line) for line in (out / f"{RUN}.jsonl").read_text("utf-8").split("\n")[:-1]]
    values = [line["scores"]["accuracy"] for line in lines if line["scores"].get("accuracy") is not None]
    assert fmean(values) == means(run)["accuracy"]


def from_otel(run: RunDir, out: Path) -> None:
    from google.protobuf.json_format import ParseDict
    from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

    spans: list[Span] = []
    for line in (out / f"{RUN}.jsonl").read_text("utf-8").split("\n")[:-1]:
        tree = json.loads(line)
        for span in tree["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            assert len(bytes.fromhex(span.pop("traceId"))) == 16 and len(bytes.fromhex(span.pop("spanId"))) == 8
            span.pop("parentSpanId", None)
        (held,) = ParseDict(tree, TracesData()).resource_spans
        spans += held.scope_spans[0].spans
    told = [{one.key: one.value for one in span.attributes} for span in spans]
    (call,) = [one for one in told if one["gen_ai.operation.name"].string_value == "chat"]
    assert (call["gen_ai.usage.input_tokens"].int_value, call["gen_ai.usage.output_tokens"].int_value) == (90, 7)
    assert len(spans) == len(run.sample()) + 1
    assert sum(span.status.code == Span().status.STATUS_CODE_ERROR for span in spans) == len(run.sample()[::5])
    events = [{one.key: one.value for one in event.attributes} for span in spans for event in span.events]
    accuracy = [
        one["gen_ai.evaluation.score.value"].double_value
        for one in events
        if one["gen_ai.evaluation.name"].string_value == "accuracy" and "gen_ai.evaluation.score.value" in one
    ]
    assert fmean(accuracy) == means(run)["accuracy"]


def from_hf(run: RunDir, out: Path) -> None:
    from huggingface_hub import ModelCard

    results = ModelCard.load(out / RUN / "README.md").data.eval_results
    assert {one.metric_type: one.metric_value for one in results} == pytest.approx(means(run))
    row = pd.read_json(out / "leaderboard.jsonl", lines=True).iloc[0]
    assert (row["run_id"], row["n_failed"]) == (RUN, len(run.sample()[::5]))
    assert row["accuracy"] == pytest.approx(means(run)["accuracy"])


READ_BACK: Mapping[str, Callable[[RunDir, Path], None]] = {
    "parquet": from_parquet,
    "trec": from_trec,
    "beir": from_beir,
    "ragas": from_ragas,
    "otel": from_otel,
    "hf": from_hf,
}


@pytest.mark.parametrize("name", other_formats.FORMATS)
def test_the_library_that_a_format_is_for_reads_the_same_numbers(
    cli: CommandLineHere, folder: Path, name: str
) -> None:
    done = cli.call("runs", "export", RUN, "--to", name, "-o", name)
    assert done.returncode == 0, done.stderr
    READ_BACK[name](RunDir(folder / "results" / RUN), folder / name)
    text = b"".join(path.read_bytes() for path in (folder / name).rglob("*.*"))
    assert b"/home/ada" not in text and str(folder).encode() not in text
    assert "exists" in cli.refused("runs", "export", RUN, "--to", name, "-o", name)


@pytest.mark.filterwarnings("ignore")
def test_mlflow_has_parameters_means_the_page_and_every_score(cli: CommandLineHere, folder: Path) -> None:
    mlflow = pytest.importorskip("mlflow")
    done = cli.call("runs", "export", RUN, "--to", "mlflow", "-o", "mlflow.db")
    assert done.returncode == 0, done.stderr
    client = mlflow.MlflowClient(tracking_uri=f"sqlite:///{folder / 'mlflow.db'}")
    (experiment,) = [one for one in client.search_experiments() if "demo" in one.name]
    (found,) = client.search_runs([experiment.experiment_id])
    expected = means(RunDir(folder / "results" / RUN))
    assert found.data.metrics["accuracy"] == pytest.approx(expected["accuracy"])
    assert found.data.metrics["nDCG_at_10"] == pytest.approx(expected["nDCG@10"])
    assert (found.data.params["system.answer.top_k"], found.info.status) == ("3", "FINISHED")
    names = {one.path for one in client.list_artifacts(found.info.run_id)}
    assert names == {"report.html", "means.jsonl", "records.jsonl", "scores.jsonl"}
    assert "password" in cli.refused("runs", "export", RUN, "--to", "mlflow", "-o", "http://me:secret@127.0.0.1:9")


def test_a_run_or_machine_that_lacks_something_for_a_format_is_one_line(
    cli: CommandLineHere, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, bare = RunDir(folder / "results" / RUN), "demo--bare--1"
    without = [
        row.model_copy(update={"reference": row.reference.model_copy(update={"evidence": ()})})
        for row in whole.sample()
    ]
    run = RunDir.create(folder / "results", whole.manifest().model_copy(update={"run_id": bare}), without)
    unknown = Prediction(answer="a", has_contexts=False)
    for one in whole.records().values():
        run.append_record(one.model_copy(update={"prediction": one.prediction and unknown}))
    for name, said in {"trec": "qrels", "beir": "qrels", "ragas": "contexts", "hf": "evaluate"}.items():
        assert said in cli.refused("runs", "export", bare, "--to", name, "-o", "other")
    monkeypatch.setattr("harness.core.errors.find_spec", lambda name: None)
    for name in ("parquet", "otel", "hf", "mlflow"):
        assert "[exports]" in cli.refused("runs", "export", RUN, "--to", name, "-o", "other")
    assert not (folder / "other").exists()
