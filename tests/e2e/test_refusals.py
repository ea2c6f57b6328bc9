"""Bad input: one line that says what to do, exit 2, nothing lost."""

import gzip
import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from command_line import SMOKE, CommandLineHere, over_http

from harness.models.fake_model import FakeScript
from harness.store import RunDir

pytestmark = pytest.mark.slow


def test_an_unknown_key_in_the_yaml_names_the_nearest(here: CommandLineHere) -> None:
    config = here.folder / "bench.yaml"
    config.write_text("dataset: {name: demo, smaple: full}\n")
    assert "did you mean 'sample'" in here.refused("run", "--config", str(config))


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--system", "niave"), "did you mean 'naive'?"),
        (("--dataset", "multihop-rag"), "did you mean 'multihop_rag'?"),
        (("--set", "answer.top_kk=3"), "did you mean 'top_k'?"),
        (("--set", "answer.top_k=none"), "answer.top_k"),
        (("--set", "dataset.subset=v9"), "no subset 'v9'"),
        (("--set", "evaluators=[acuracy]"), "unknown evaluator"),
        (("--config", "missing.yaml"), "no config file missing.yaml"),
        (("--set", "models.generator.provider=opnai"), "did you mean 'openai'?"),
        (("--set", "models.generator.provider=openai"), "OPENAI_API_KEY is not set"),
    ],
)
def test_a_wrong_word_is_one_line_with_the_way_out(
    here: CommandLineHere, words: tuple[str, ...], hint: str
) -> None:
    assert hint in here.refused("run", "--quiet", *words)


def test_a_missing_data_directory_is_named(here: CommandLineHere) -> None:
    line = here.refused("plan", "--dataset", "multihop_rag", RAG_HARNESS_DATA="/nowhere/at/all")
    assert "/nowhere/at/all" in line


@pytest.mark.parametrize("damage", ["truncated gzip", "truncated json", "no json"])
def test_a_damaged_data_file_is_named(here: CommandLineHere, damage: str) -> None:
    folder = here.folder / "data" / "multihop_rag"
    folder.mkdir(parents=True)
    whole = json.dumps([{"title": "t"}]).encode()
    if damage == "truncated gzip":
        (folder / "corpus.json.gz").write_bytes(gzip.compress(whole * 1000)[:-20])
    else:
        (folder / "corpus.json").write_bytes(whole[:-3] if damage == "truncated json" else b"<html>")
    (folder / "MultiHopRAG.json").write_text("[]")
    line = here.refused("plan", "--dataset", "multihop_rag", RAG_HARNESS_DATA=str(here.folder / "data"))
    assert "multihop_rag/corpus.json" in line


def test_weights_with_the_wrong_digest_are_refused(here: CommandLineHere) -> None:
    weights = Path(here.env["RAG_HARNESS_CACHE"]) / "weights"
    weights.mkdir(parents=True)
    (weights / "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf").write_bytes(b"GGUF not really")
    line = here.refused("run", "--quiet")
    assert "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf" in line
    assert "sha256" in line


def test_a_taken_port_is_named(here: CommandLineHere) -> None:
    weights = here.folder / "own.gguf"
    weights.write_bytes(b"GGUF")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        options = {"port": port, "path": str(weights)}
        line = here.refused(
            "run", "--quiet", "--set", f"models.generator.options={json.dumps(options)}",
            "--set", "models.embedder.provider=fake",
        )  # fmt: skip
    assert f"port {port} is taken" in line


def test_a_results_folder_that_cannot_be_written_is_named(here: CommandLineHere) -> None:
    (here.folder / "file").write_text("in the way")
    line = here.refused("run", "-c", str(SMOKE), "--quiet", "--results", str(here.folder / "file" / "results"))
    assert "cannot write to" in line


@pytest.mark.usefixtures("workers_here")
def test_a_run_of_a_newer_version_is_left_alone(indexed: CommandLineHere) -> None:
    run = RunDir(Path(indexed.run()["path"]))
    manifest = run.path / "manifest.json"
    newer = json.loads(manifest.read_text()) | {"schema_version": 99}
    manifest.write_text(json.dumps(newer))
    before = (run.path / "records.jsonl").read_bytes()
    for command in (("run", "-c", str(SMOKE), "--quiet"), ("report", run.run_id), ("show", run.run_id)):
        assert "schema 99" in indexed.refused(*command)
    assert (run.path / "records.jsonl").read_bytes() == before


@pytest.mark.skipif(
    os.geteuid() != 0 and not os.environ.get("CI"), reason="a small file system needs root to mount"
)
def test_a_full_disk_stops_the_run_in_one_line_and_it_resumes_when_there_is_room(here: CommandLineHere) -> None:
    disk = here.folder / "small"
    disk.mkdir()
    # The index fits, the records of forty queries do not.
    mount(disk, "1500k")
    words = ("--set", "dataset.sample.per_type=10", "--results", str(disk / "results"))
    try:
        line = here.refused("run", "-c", str(SMOKE), "--quiet", "--records-only", *words)
        assert "space" in line or "full" in line
        mount(disk, "remount,size=50m")
        (run,) = (RunDir(path) for path in (disk / "results").glob("demo--*"))
        kept = list(run.iter_records())
        assert 0 < len(kept) < 40
        made = here.run(*words)
        assert (made["n_ok"], made["n_error"]) == (40, 0)
        assert list(run.iter_records())[: len(kept)] == kept
    finally:
        os.system(f"umount -l '{disk}'")


@pytest.mark.skipif(
    os.geteuid() != 0 and not os.environ.get("CI"), reason="a small file system needs root to mount"
)
def test_a_disk_that_fills_up_during_the_index_is_one_line_too(here: CommandLineHere) -> None:
    disk = here.folder / "small"
    disk.mkdir()
    mount(disk, "700k")
    try:
        line = here.refused(
            "run", "-c", str(SMOKE), "--quiet", "--records-only", "--results", str(disk / "results")
        )
        assert "no space left" in line
        mount(disk, "remount,size=50m")
        assert here.run("--results", str(disk / "results"))["n_ok"] == 8
    finally:
        os.system(f"umount -l '{disk}'")


def mount(folder: Path, size: str) -> None:
    options = size if "," in size else f"size={size}"
    assert os.system(f"mount -t tmpfs -o {options} tmpfs '{folder}'") == 0


KG_ON_NEO4J = ("--system", "naive", "--system", "kg", "--set", "index.store=neo4j")


def test_a_graph_database_that_is_down_stops_every_cell_before_anything_is_paid(
    here: CommandLineHere, serve: Any
) -> None:
    server = serve()
    words = ("run", "--config", str(SMOKE), "--quiet", *KG_ON_NEO4J, *over_http("generator", server))
    line = here.refused(*words, NEO4J_URI="bolt://127.0.0.1:1")
    assert "bolt://127.0.0.1:1" in line
    assert "scripts/neo4j start" in line
    assert server.model.served["calls"] == 0
    assert list(here.results.glob("demo--*")) == []


@pytest.mark.usefixtures("workers_here")
def test_an_index_that_needs_a_generator_is_refused_without_one(here: CommandLineHere) -> None:
    words = ("run", "--config", str(SMOKE), "--quiet", "--set", "models.generator={provider: none}")
    assert "'kg' builds its index with a generator" in here.refused(*words, "--system", "kg")
    by_rules = ("--system", "kg", "--set", "index.extractor=nlp", "--records-only")
    assert here.call(*words, *by_rules).returncode == 0


@pytest.mark.usefixtures("workers_here")
def test_a_model_that_answers_prose_leaves_an_index_that_can_be_used(here: CommandLineHere, serve: Any) -> None:
    """Two calls a chunk, then it is a failed chunk; every query is answered from the passages."""
    server = serve(FakeScript(reply="I see no facts."))
    done = here.run("--system", "kg", *over_http("generator", server))
    run = RunDir(Path(done["path"]))
    index = run.index()
    assert index is not None
    assert index.stats.failed_chunks == index.stats.chunks
    assert index.cost.usage["generator"].calls == 2 * (index.stats.chunks or 0)
    assert (done["status"], done["n_ok"]) == ("done", 8)
    assert all(record.prediction and record.prediction.contexts for record in run.records().values())
