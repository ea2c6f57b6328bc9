"""Bad input: one line that says what to do, exit 2, nothing lost."""

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from command_line import SMOKE, CommandLineHere, over_http

from harness.store import RunDir

pytestmark = pytest.mark.slow
OLLAMA = [
    word
    for one in ("provider=ollama", "model=x", "base_url=http://127.0.0.1:9/v1")
    for word in ("--set", f"models.generator.{one}")
]


def test_a_wrong_word_is_one_line_with_the_way_out(here: CommandLineHere) -> None:
    for words, hint in (
        (("--system", "niave"), "did you mean 'naive'?"),
        (("--set", "answer.top_k=none"), "answer.top_k"),
        (("--config", "missing.yaml"), "no config file missing.yaml"),
        (("--set", "models.generator.provider=openai"), "OPENAI_API_KEY is not set"),
        (OLLAMA, "cannot reach the generator at http://127.0.0.1:9/v1"),
        (OLLAMA, "ollama serve"),
    ):
        assert hint in here.refused("run", "--quiet", *words)


def test_a_taken_port_is_named(here: CommandLineHere) -> None:
    weights = here.folder / "own.gguf"
    weights.write_bytes(b"GGUF")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        options = f"models.generator.options={json.dumps({'port': port, 'path': str(weights)})}"
        said = here.refused("run", "--quiet", "--set", options, "--set", "models.embedder.provider=fake")
    assert f"port {port} is taken" in said


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


def mount(folder: Path, size: str) -> None:
    options = size if "," in size else f"size={size}"
    assert os.system(f"mount -t tmpfs -o {options} tmpfs '{folder}'") == 0


def test_a_graph_database_that_is_down_stops_all_before_paying(here: CommandLineHere, serve: Any) -> None:
    server = serve()
    systems = ("--system", "naive", "--system", "kg", "--set", "index.store=neo4j")
    words = ("run", "--config", str(SMOKE), "--quiet", *systems, *over_http("generator", server))
    line = here.refused(*words, NEO4J_URI="bolt://127.0.0.1:1")
    assert "bolt://127.0.0.1:1" in line and "scripts/neo4j start" in line
    assert (server.model.served["calls"], list(here.results.glob("demo--*"))) == (0, [])
