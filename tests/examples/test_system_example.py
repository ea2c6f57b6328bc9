"""BM25 from a package of its own: no embedder is named, so none is built, fetched or part of what a run is."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import SMOKE, CommandLine
from strangers import says

from harness.registry import SYSTEMS

Stranger = Callable[..., CommandLine]
EMBEDDERS = ("fake", "minilm", "none", "ollama")


def run_ids(outside: CommandLine, system: str) -> set[str]:
    """Of the same config with each embedder in turn."""
    planned = []
    for embedder in EMBEDDERS:
        model = ["--set", "models.embedder.model=any"] if embedder == "ollama" else []
        words = ("plan", "-c", str(SMOKE), "-s", system, "--set", f"models.embedder.provider={embedder}", *model)
        planned += json.loads(says(outside, *words, "--json"))["cells"]
    assert len(planned) == len(EMBEDDERS)
    return {cell["run_id"] for cell in planned}


def test_it_is_not_there_unless_it_is_installed() -> None:
    assert "bm25" not in SYSTEMS.names()


@pytest.mark.slow
def test_it_is_listed_with_its_parameters(stranger: Stranger) -> None:
    rows = {row["name"]: row for row in json.loads(says(stranger("system"), "list", "systems", "--json"))}
    assert {"naive", "bm25"} <= rows.keys()
    assert rows["bm25"]["version"] == "1"
    assert rows["bm25"]["index_params"] == {"passage_words": 150}
    assert rows["bm25"]["answer_params"] == {"top_k": 5, "k1": 1.5, "b": 0.75}


@pytest.mark.slow
def test_a_run_is_the_same_run_whatever_embedder_the_config_names(stranger: Stranger) -> None:
    assert len(run_ids(stranger("system"), "bm25")) == 1


@pytest.mark.slow
def test_it_runs_to_the_end_and_says_where_each_context_comes_from(stranger: Stranger) -> None:
    outside = stranger("system")
    found = outside.run("-s", "bm25", "--set", "models.embedder.provider=minilm", "--set", "answer.top_k=3")
    assert (found["status"], found["n_ok"], found["n_error"]) == ("done", 8, 0)
    run = outside.folder / found["path"]
    for record in map(json.loads, (run / "records.jsonl").read_text().splitlines()):
        assert record["prediction"]["answer"]
        assert {role: usage["calls"] for role, usage in record["cost"]["usage"].items()} == {"generator": 1}
        assert record["cost"]["stages_s"].keys() == {"retrieve", "generate"}
        contexts = record["prediction"]["contexts"]
        assert len(contexts) == 3
        assert all(context["span"]["doc_id"] in context["doc_ids"] for context in contexts)
    assert (run / "done.json").exists()
    assert json.loads((run / "manifest.json").read_text())["identity"]["models"].keys() == {"generator"}
    assert not (outside.folder / "cache" / "weights").exists(), "it fetched a model that nobody calls"


@pytest.mark.slow
def test_it_answers_ms_marco_by_the_config_of_that_data_set(stranger: Stranger, data_dir: Path) -> None:
    outside = stranger("system")
    short = ("models.generator.provider=fake", "models.generator.model=null", "dataset.sample.per_type=1",
             "dataset.corpus=cited", "answer.top_k=2", "evaluators=[answer, retrieval]")  # fmt: skip
    settings = [word for setting in short for word in ("--set", setting)]
    words = ("run", "-c", "configs/bench/ms_marco.yaml", "-s", "bm25", *settings, "--out", "told")
    done = outside.call(*words, RAG_HARNESS_DATA=str(data_dir))
    assert done.returncode == 0, done.stdout + done.stderr
    (verdict,) = json.loads((outside.folder / "told" / "verdict.json").read_text())
    assert verdict["metric"] == "token_f1"
    assert not (outside.folder / "cache" / "weights").exists()
