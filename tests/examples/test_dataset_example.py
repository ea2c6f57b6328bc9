"""Answers in sentences, from a package of its own: what ranks is what its spec says, and a difference is told."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import SMOKE, CommandLine
from strangers import EXAMPLES, says

pytestmark = pytest.mark.slow
Stranger = Callable[..., CommandLine]
QUESTIONS = EXAMPLES / "dataset" / "rag_bakery_example" / "questions.jsonl"


def answered(outside: CommandLine, name: str, answer: Callable[[str], str]) -> str:
    """The run of a system whose answer to each question is `answer(reference)`."""
    rows = [json.loads(line) for line in QUESTIONS.read_text().splitlines()]
    lines = [json.dumps({"query_id": row["id"], "answer": answer(row["answers"][0])}) for row in rows]
    (outside.folder / f"{name}.jsonl").write_text("\n".join(lines))
    says(outside, "import", f"{name}.jsonl", "--dataset", "bakery", "--name", name)
    return f"bakery--{name}"


def test_a_difference_is_told_by_its_own_measure_where_no_answer_is_exactly_right(stranger: Stranger) -> None:
    outside = stranger("dataset")
    runs = [
        answered(outside, "nearly", lambda reference: f"Well, {reference}"),
        answered(outside, "never", lambda _: "Nobody wrote that down anywhere."),
    ]
    says(outside, "evaluate", *runs, "-e", "answer", "-q")
    (verdict,) = json.loads(says(outside, "report", *runs, "--json"))
    assert [verdict[key] for key in ("outcome", "recommended", "metric")] == ["clear_winner", "nearly", "token_f1"]
    compared = json.loads(says(outside, "compare", *runs, "--measures", "accuracy,token_f1", "--json"))
    ranks = {one["measure"]: [run["ranks"] for run in one["ranking"]] for one in compared["measures"]}
    assert ranks == {"accuracy": [[1, 2], [1, 2]], "token_f1": [[1, 1], [2, 2]]}


def test_systems_run_on_it_and_are_asked_for_sentences(stranger: Stranger) -> None:
    outside = stranger("dataset")
    words = ("run", "-c", str(SMOKE), "-s", "gold", "-d", "bakery", "--json", "--records-only")
    (run,) = json.loads(says(outside, *words))["runs"]
    assert (run["status"], run["n_ok"]) == ("done", 4)
    manifest = json.loads((outside.folder / Path(run["path"]) / "manifest.json").read_text())
    assert manifest["dataset"]["primary_measure"] == "token_f1"
    assert manifest["identity"]["answers"]["style"] == "sentence"
