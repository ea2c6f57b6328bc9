"""`rag-harness graph` as a user calls it."""

from importlib.util import find_spec

import pytest
from command_line import CommandLine
from labelled_runs import record
from paired_runs import ScoredRun, write_run

from harness.core.records import Context, Cost, EvaluationRecord, Failure, Prediction
from harness.store import RunDir

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
def run(cli: CommandLine) -> RunDir:
    """Answers, an abstention, a failure, and an id that is no file name."""
    texts = dict.fromkeys(ANSWERS, "Who bought YouTube?")
    plan = ScoredRun(queries=[*ANSWERS], gold=("Google",), texts=texts, unfinished=len(ANSWERS))
    made = write_run(cli.results, plan)
    failed = {"status": "error", "prediction": None, "failure": Failure(kind="ValueError", message="boom")}
    for query_id, answer in ANSWERS.items():
        contexts = (Context(text=PASSAGE, doc_ids=("d",)),)
        answered = record(query_id, Prediction(answer=answer, contexts=contexts))
        made.append_record(answered if answer else answered.model_copy(update=failed))
    return made


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


def test_an_answer_without_a_graph_is_one_line(cli: CommandLine, run: RunDir) -> None:
    def refused(query_id: str, pair: str, *words: str) -> str:
        return cli.refused("graph", run.run_id, query_id, "--pair", pair, *FAKE, "-q", *words)

    assert "has no query 'q9'" in refused("q9", "faithfulness")
    assert "q3, repeat 0, failed (ValueError)" in refused("q3", "faithfulness")
    assert "q1, repeat 1, has no record yet" in refused("q1", "faithfulness", "--repeat", "1")
    assert "(the answer abstains)" in refused("q2", "faithfulness")
    assert "the answer has no triplets)" in refused("q5", "answer_relevancy")
    assert "per_evaluator.kg_nlp.tau" in refused("q1", "faithfulness", "--set", "per_evaluator.kg_nlp.tau=2")
