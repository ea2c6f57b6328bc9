"""`rag-harness import`: what a user types, what is said, and that the run it makes is scored as any other."""

import json
from pathlib import Path

import pytest
from command_line import CommandLine

from harness.datasets import demo, load_dataset
from harness.store import find_runs


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """Every query of the demo, answered rightly, under names of another program."""
    whole = load_dataset(demo.SPEC)
    pairs = zip(whole.queries, whole.references, strict=True)
    rows = [{"our_question": query.text, "reply": gold.answers[0], "run": "r1"} for query, gold in pairs]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def words(path: Path, *more: str) -> tuple[str, ...]:
    return ("import", str(path), "--dataset", "demo", "--name", "theirs", *more)


@pytest.mark.slow
def test_imported_answers_are_scored_and_shown_like_any_other(cli: CommandLine, answers: Path) -> None:
    mapped = words(answers, "--field", "query=our_question", "--field", "answer=reply", "--where", "run=r1")
    done = cli.call(*mapped)
    assert done.returncode == 0, done.stderr
    (run,) = find_runs(cli.results, [])
    n_answers = len(answers.read_text().splitlines())
    assert done.stdout.splitlines()[0] == f"imported {n_answers} answers of theirs: {run.run_id}"
    assert done.stdout.splitlines()[-1] == f"next: rag-harness evaluate {run.run_id}"
    again = cli.call(*mapped)
    assert again.stdout.splitlines()[0] == f"{run.run_id} already has these answers: nothing to do"
    scored = cli.call("evaluate", run.run_id, "-e", "answer", "-e", "failure_analysis")
    assert scored.returncode == 0, scored.stderr
    assert {path.stem for path in (run.path / "scores").glob("*.json")} == {"answer", "failure_analysis"}
    assert {score.value for score in run.scores() if score.measure == "accuracy"} == {1.0}
    shown = cli.call("show", run.run_id, "demo-0001").stdout.splitlines()
    assert ["latency", "–"] in [line.split() for line in shown]  # noqa: RUF001


def test_a_trec_run_file_is_scored_by_document_in_the_order_of_its_scores(
    cli: CommandLine, tmp_path: Path
) -> None:
    whole = load_dataset(demo.SPEC)
    path, lines = tmp_path / "bm25.run", list[str]()
    for reference in whole.references:
        gold = [item.doc_id for item in reference.evidence] or ["nowhere"]
        # The rank of the file is not the order: trec_eval sorts by score.
        lines += [f"{reference.query_id} Q0 wrong 1 0.5 t", f"{reference.query_id} Q0 {gold[0]} 2 9.5 t"]
    path.write_text("\n".join(lines))
    done = cli.call(*words(path))
    assert done.returncode == 0, done.stderr
    (run,) = find_runs(cli.results, [])
    scored = cli.call("evaluate", run.run_id, "-e", "retrieval,answer")
    assert scored.returncode == 0, scored.stderr
    scores = [*run.scores()]
    assert {score.value for score in scores if score.measure == "Hit@1" and score.value is not None} == {1.0}
    assert {score.status for score in scores if score.measure in {"accuracy", "fact_Recall@4000c"}} == {
        "not_applicable"
    }
    for broken in ("broken line", f"{whole.queries[0].query_id} Q0 d 1 nan t"):
        path.write_text("\n".join([*lines[:3], broken]))
        assert "line 4" in cli.refused(*words(path))


def test_a_mistake_is_one_line_with_the_way_out(cli: CommandLine, answers: Path) -> None:
    assert "did you mean --field query=our_question?" in cli.refused(*words(answers))
    assert "write --field KEY=VALUE" in cli.refused(*words(answers, "--field", "query"))
    assert not cli.results.exists()


def test_one_file_of_another_tool_is_both_the_questions_and_the_answers(cli: CommandLine) -> None:
    (cli.folder / "docs").mkdir()
    (cli.folder / "docs" / "bakery.md").write_text("Marta Lind runs the bakery.")
    file = cli.folder / "both.csv"
    file.write_text("question,answer,ground_truth,cost\nWho runs it?,Marta,Marta Lind,0.1\n")
    both = ("import", str(file), "--docs", str(cli.folder / "docs"), "--questions", str(file), "--name", "theirs")
    assert "--field answers=ground_truth" in cli.refused(*both)
    said = cli.call(*both, "--field", "answers=ground_truth").stdout
    assert "'cost' (1)" in said
    (run,) = find_runs(cli.results, [])
    assert [row.reference.answers for row in run.sample()] == [("Marta Lind",)]
    assert [record.prediction.answer for record in run.records().values() if record.prediction] == ["Marta"]
