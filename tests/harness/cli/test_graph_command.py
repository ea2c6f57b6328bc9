"""`rag-harness graph` as a user calls it."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from command_line import CommandLine, CommandLineHere

from harness.core.records import Context, Cost, EvaluationRecord, Failure, Prediction, Query, Reference, RunRecord
from harness.store import SCHEMA_VERSION, Manifest, RunDir, SampleRow

NEEDED = ("igraph", "matplotlib", "networkx", "spacy")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not all(map(find_spec, NEEDED)), reason=f"needs {', '.join(NEEDED)}"),
]

FAKE = ("--set", "models.judge_embedder.provider=fake", "--set", "models.judge.provider=fake")
PASSAGE = "Google bought YouTube in November 2006. Apple sued Samsung."
ANSWERS = {
    "q1": "Google bought YouTube.",
    "q2": "Insufficient information.",
    "q3": None,
    "q/4": "Apple sued Samsung.",
    "q5": "Google",
}


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLineHere(tmp_path, {"RAG_HARNESS_CACHE": str(tmp_path / "cache")})


@pytest.fixture
def run(cli: CommandLine) -> RunDir:
    """Four queries: an answer, an abstention, a failure, and an id that is no file name."""
    manifest = Manifest(
        schema_version=SCHEMA_VERSION,
        run_id="demo--naive--0123456789ab",
        identity={"models": {"generator": {"provider": "fake", "model": "fake"}}, "repeats": 1},
        config={"evaluators": ["answer"]},
        dataset={"name": "demo"},
        index_id="0123456789ab",
        machine={},
        packages={},
        git_commit="",
        created_at="2026-11-22T10:00:00+00:00",
    )
    sample = [
        SampleRow(
            query=Query(query_id=one, text="Who bought YouTube?"),
            reference=Reference(query_id=one, query_type="inference", answers=("Google",)),
        )
        for one in ANSWERS
    ]
    made = RunDir.create(cli.results, manifest, sample)
    for query_id, answer in ANSWERS.items():
        made.append_record(_record(query_id, answer))
    return made


def _record(query_id: str, answer: str | None) -> RunRecord:
    contexts = (Context(text=PASSAGE, doc_ids=("d",)),)
    return RunRecord(
        query_id=query_id,
        repeat=0,
        status="ok" if answer else "error",
        prediction=Prediction(answer=answer, contexts=contexts) if answer else None,
        failure=None if answer else Failure(kind="ValueError", message="boom"),
        cost=Cost(wall_s=1.0),
        attempt=1,
        started_at="2026-11-22T10:00:00+00:00",
    )


def test_a_graph_is_written_drawn_and_described_in_one_line(cli: CommandLine, run: RunDir) -> None:
    words = ("graph", run.run_id, "q1", "--pair", "faithfulness", "--out", "found", *FAKE, "-q")
    done = cli.call(*words)
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert line.startswith(
        "faithfulness of q1 (kg_nlp): multi-hop 1.000, undirected 1.000, direct 1.000, community "
    )
    assert line.endswith("found/q1-faithfulness.graphml, found/q1-faithfulness.svg")
    files = {path.name: path.read_bytes() for path in (cli.folder / "found").iterdir()}
    assert set(files) == {f"q1-faithfulness.{kind}" for kind in ("graphml", "svg")}
    assert b"YouTube" in files["q1-faithfulness.graphml"]

    assert cli.call(*words).returncode == 0
    assert {path.name: path.read_bytes() for path in (cli.folder / "found").iterdir()} == files


def test_the_judge_reads_where_it_has_read_before_and_is_not_paid_twice(cli: CommandLine, run: RunDir) -> None:
    words = ("graph", run.run_id, "q/4", "-p", "factual_correctness", *FAKE, "-q")
    assert "(kg_nlp)" in cli.call(*words).stdout
    run.write_scores(EvaluationRecord(evaluator="kg", version="1", cost=Cost(wall_s=0.0)), [])
    done = cli.call(*words)
    assert done.returncode == 0, done.stderr
    assert "(kg)" in done.stdout
    folder = cli.results / "graphs" / run.run_id / "kg"
    assert (folder / "q-4-factual_correctness.graphml").exists()
    journal = (cli.results / "judge" / "calls.sqlite").read_bytes()
    assert cli.call(*words).stdout == done.stdout
    assert (cli.results / "judge" / "calls.sqlite").read_bytes() == journal


def test_a_name_has_a_graph_of_its_own(cli: CommandLine, run: RunDir) -> None:
    done = cli.call("graph", run.run_id, "q5", "-p", "factual_correctness", "--out", "found", *FAKE, "-q")
    assert done.returncode == 0, done.stderr
    assert "multi-hop 1.000, undirected 1.000, direct 1.000, community 1.000, coverage 1.000" in done.stdout
    assert b"Google" in (cli.folder / "found" / "q5-factual_correctness.graphml").read_bytes()


def test_what_has_no_graph_is_one_line(cli: CommandLine, run: RunDir) -> None:
    def refused(query_id: str, pair: str, *words: str) -> str:
        return cli.refused("graph", run.run_id, query_id, "--pair", pair, *FAKE, "-q", *words)

    assert "has no query 'q9'" in refused("q9", "faithfulness")
    assert "q3, repeat 0, failed (ValueError)" in refused("q3", "faithfulness")
    assert "q1, repeat 1, has no record yet" in refused("q1", "faithfulness", "--repeat", "1")
    assert "(the answer abstains)" in refused("q2", "faithfulness")
    assert "the answer has no triplets)" in refused("q5", "answer_relevancy")
    assert "per_evaluator.kg_nlp.tau" in refused("q1", "faithfulness", "--set", "per_evaluator.kg_nlp.tau=2")
