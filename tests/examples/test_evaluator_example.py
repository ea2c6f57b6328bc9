"""Measures from a package of their own: scores, a section, a figure, and the first place where asked for."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import SMOKE, CommandLine
from strangers import says

pytestmark = pytest.mark.slow
MEASURES = {"grounding_words", "grounding_numbers"}


@pytest.fixture
def run(stranger: Callable[..., CommandLine]) -> tuple[CommandLine, Path]:
    """The outside, and a run of gold that the evaluator scored; its answers are words of the contexts."""
    outside = stranger("evaluator")
    words = ("run", "-c", str(SMOKE), "-s", "gold", "--set", "evaluators=[answer, grounding]", "--out", "told")
    (made,) = json.loads(says(outside, *words, "--set", "dataset.sample.per_type=1", "--json"))["runs"]
    return outside, outside.folder / made["path"]


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


def test_it_ranks_where_somebody_asks_for_it(run: tuple[CommandLine, Path]) -> None:
    outside, folder = run
    (verdict,) = json.loads(says(outside, "report", folder.name, "--measure", "grounding_words", "--json"))
    assert (verdict["metric"], verdict["standings"][0]["system"]) == ("grounding_words", "gold")
