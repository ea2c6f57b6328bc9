"""The packages of docs/examples, installed as a stranger would: a data set, an evaluator, a section, a system."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import SMOKE, CommandLine
from strangers import EXAMPLES, says

from harness.registry import SYSTEMS

Stranger = Callable[..., CommandLine]
QUESTIONS = EXAMPLES / "dataset" / "rag_bakery_example" / "questions.jsonl"


def answered(outside: CommandLine, name: str, answer: Callable[[str], str]) -> str:
    """The run of a system whose answer to each question is `answer(reference)`."""
    rows = [json.loads(line) for line in QUESTIONS.read_text().splitlines()]
    lines = [json.dumps({"query_id": row["id"], "answer": answer(row["answers"][0])}) for row in rows]
    (outside.folder / f"{name}.jsonl").write_text("\n".join(lines))
    says(outside, "import", f"{name}.jsonl", "--dataset", "bakery", "--name", name)
    return f"bakery--{name}"


@pytest.mark.slow
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


# Measures from a package of their own: scores, a section, a figure, and the first place where asked for.


MEASURES = {"grounding_words", "grounding_numbers"}


@pytest.fixture
def run(stranger: Callable[..., CommandLine]) -> tuple[CommandLine, Path]:
    """The outside, and a run of gold that the evaluator scored; its answers are words of the contexts."""
    outside = stranger("evaluator")
    words = ("run", "-c", str(SMOKE), "-s", "gold", "--set", "evaluators=[answer, grounding]", "--out", "told")
    (made,) = json.loads(says(outside, *words, "--set", "dataset.sample.per_type=1", "--json"))["runs"]
    return outside, outside.folder / made["path"]


@pytest.mark.slow
def test_its_scores_its_section_and_its_figure_are_in_every_form(run: tuple[CommandLine, Path]) -> None:
    outside, folder = run
    scores = [json.loads(line) for line in (folder / "scores" / "grounding.jsonl").read_text().splitlines()]
    assert {score["measure"] for score in scores} == MEASURES
    assert {score["value"] for score in scores if score["status"] == "scored"} <= {0.0, 1.0}
    told = outside.folder / "told"
    markdown, page = (told / "summary.md").read_text(), (told / "report.html").read_text()
    assert "### Grounding\n" in markdown
    assert "| grounding_words | " in markdown
    assert ">Grounding</h" in page
    assert "Answers and their contexts" in page
    assert (told / "figures" / "grounding_figure.svg").is_file()
    with (told / "summary.csv").open(newline="") as file:
        assert {row["measure"] for row in csv.DictReader(file)} >= MEASURES


# A section from a package of its own: words, a table and a figure in page, Markdown, terminal and files.


@pytest.mark.slow
def test_it_is_in_page_markdown_terminal_and_folders(
    stranger: Callable[..., CommandLine],
) -> None:
    outside = stranger("section")
    scripted = ("--set", "models.generator.options={reply: one two three}", "--set", "evaluators=[answer]")
    said = says(outside, "run", "-c", str(SMOKE), "-s", "gold", *scripted, "--out", "told", "--full")
    told = outside.folder / "told"
    markdown, page = (told / "summary.md").read_text(), (told / "report.html").read_text()
    for form in (markdown, page, said):
        assert "The longest answer has 3 words (gold)." in form
        assert "Words of an answer" in form
    assert "### How long answers are\n" in markdown
    assert "(figures/lengths.svg)" in markdown
    assert ">How long answers are</h" in page
    assert {path.name for path in (told / "figures").glob("lengths.*")} == {"lengths.svg"}
    assert (told / "tables" / "lengths.csv").read_text().splitlines()[1].startswith("gold,")
    says(outside, "report", "demo--gold", "--out", "again")
    assert (outside.folder / "again" / "report.html").read_bytes() == (told / "report.html").read_bytes()


# BM25 from a package of its own: no embedder is named, so none is built, fetched or part of what a run is.


def test_it_is_not_there_unless_it_is_installed() -> None:
    assert "bm25" not in SYSTEMS.names()


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
