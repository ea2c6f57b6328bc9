"""Labelled sets: the real ones, faulty files, and `rag-harness validate` on a small one."""

import csv
import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from harness.core.errors import DataError, HarnessError
from harness.datasets.local_files import ENV
from harness.extensions.meta_evaluation.commands import validate
from harness.extensions.meta_evaluation.labelled_sets import SETS, load_set

Row = dict[str, Any]
SHAPES = {
    "ragchecker": (560, 280, ["correctness", "completeness", "overall"], {2}),
    "clapnq": (300, 100, ["faithfulness", "answer_relevance", "fluency"], {3}),
    "neural_bridge": (100, 100, ["quality"], {1}),
    "ms_marco_hard": (400, 200, ["relevance"], {1}),
}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of labelled sets, in the data folder."""
    folder = tmp_path / "data" / "human_eval"
    folder.mkdir(parents=True)
    monkeypatch.setenv(ENV, str(folder.parent))
    return folder


def pair(number: int, label: object = 1, second: object = 2) -> list[Row]:
    """A pair of answers as two people compared it: the second is the longer part of the reference."""
    words = [f"word{number}{place}" for place in range(6)]
    sides = {"model1": words[: 1 + number % 3], "model2": words[: 2 + number % 4]}
    row = {
        "instance_id": number,
        "query": f"What is {number}?",
        "gt_answer": " ".join(words),
        **{side: {"model_name": side, "response": " ".join(said)} for side, said in sides.items()},
    }
    names = ("correctness", "completeness", "overall")
    return [{**row, **{f"{name}_label": value for name in names}} for value in (label, second)]


def write_pairs(data: Path, *pairs: Sequence[Row]) -> None:
    rows = list(chain.from_iterable(pairs))
    (data / "ragchecker_human_labeled_data.json").write_text(json.dumps(rows), encoding="utf-8")


def write_graded(data: Path, *changes: Row) -> None:
    """A row of graded answers for each change of a good one."""
    good = {"question": "Who?", "answer": "She.", "contexts": "['A context.']", "ground_truth": "A truth."}
    with (data / "neural_bridge_rag_human_eval_100.csv").open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(
            file, ["qa_index", *good, "Human label", "answer_correctness", "context_relevancy"]
        )
        writer.writeheader()
        for number, change in enumerate(changes):
            scores = {"answer_correctness": "", "context_relevancy": "0.5"}
            writer.writerow({"qa_index": number, **good, "Human label": 1 + number % 5, **scores, **change})


@pytest.mark.parametrize("name", SETS)
def test_the_real_files_have_the_published_counts(
    name: str, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENV, str(data_folder))
    human = load_set(name)
    people = {len(row.labels) for one in human.dimensions for row in one.rows}
    found = (len(human.items), len(human.question_ids), [one.name for one in human.dimensions], people)
    assert found == SHAPES[name]
    known = {item.item_id for item in human.items}
    assert {item for one in human.dimensions for row in one.rows for item in row.item_ids} <= known


def test_missing_labels_are_counted_and_the_other_persons_are_kept(data: Path) -> None:
    write_pairs(data, *map(pair, range(11)), pair(11, None), pair(12, None, ""))
    human = load_set("ragchecker")
    assert [len(row.labels) for row in human.dimensions[2].rows] == [2] * 11 + [1]
    assert "2 pairs with a missing label of overall" in human.notes
    write_graded(data, *[{}] * 12, {"Human label": " "})
    human = load_set("neural_bridge")
    assert (len(human.dimensions[0].rows), human.notes) == (12, ("1 answers with a missing label of quality",))


@pytest.mark.parametrize("label", [3, "good", True, "nan"])
def test_a_label_outside_its_scale_is_one_line_that_names_the_row(data: Path, label: object) -> None:
    write_pairs(data, pair(0), pair(1, label))
    with pytest.raises(DataError, match=r"row 3: the label .* is not from -2 to 2"):
        load_set("ragchecker")


def test_people_who_were_shown_different_texts_are_refused(data: Path) -> None:
    rows = pair(0)
    rows[1]["gt_answer"] = "Another."
    write_pairs(data, rows)
    with pytest.raises(DataError, match="different texts"):
        load_set("ragchecker")


@pytest.mark.parametrize("contexts", ["open('x')", "[1]", "['a'"])
def test_contexts_that_are_no_list_of_texts_are_refused_and_never_run(data: Path, contexts: str) -> None:
    write_graded(data, {}, {"contexts": contexts})
    with pytest.raises(DataError, match=r"line 3: field 'contexts' is no list of texts"):
        load_set("neural_bridge")


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("name", SETS)
def test_a_missing_file_is_one_line_with_the_way_out(name: str) -> None:
    with pytest.raises(DataError, match=f"(?s)is not there.*{ENV}"):
        load_set(name)


def test_a_part_of_a_set_is_whole_questions_by_seed_and_at_least_ten(data: Path) -> None:
    write_pairs(data, *map(pair, range(30)))
    human = load_set("ragchecker")
    part = human.drawn(12)
    assert part.question_ids == human.drawn(12).question_ids != human.drawn(12, seed=1).question_ids
    assert (len(part.items), [len(one.rows) for one in part.dimensions]) == (24, [12, 12, 12])
    assert human.drawn(30) is human
    write_pairs(data, *map(pair, range(9)))
    with pytest.raises(DataError, match="fewer than 10"):
        load_set("ragchecker").drawn(None)


# The command.


APP = typer.Typer()
APP.command()(validate)


@pytest.fixture
def labelled(data: Path) -> None:
    """Twelve pairs, the better answer with more of the reference; one person differs at times."""
    longer = [1 + n % 4 - n % 3 for n in range(12)]
    write_pairs(data, *(pair(n, min(2, more), min(2, more - 1 + n % 2)) for n, more in enumerate(longer)))


def called(*words: str) -> str:
    result = CliRunner().invoke(APP, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.usefixtures("labelled")
def test_a_set_is_scored_and_its_card_printed_and_written(tmp_path: Path) -> None:
    where = ("--results", str(tmp_path / "results"))
    said = json.loads(called("-e", "answer", "--json", "--quiet", *where))
    overall = said["dimensions"][2]
    found = {one["measure"]: one for one in overall["measures"]}
    assert overall["rows"] == 12
    assert found["token_f1"]["pearson_one_person"]["value"] > 0.5
    assert found["accuracy"]["constant"]
    out = tmp_path / "results" / "validity" / "ragchecker"
    assert (out / "figures" / "correlations.svg").is_file()
    text = called("--from", str(out))
    assert "which answer is better" in text
    assert "one person with another" in text


@pytest.mark.usefixtures("labelled")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-n", "5"], "fewer than 10 questions"),
        (["--judge", "local", "--no-judge"], "--no-judge"),
        (["--from", "nowhere", "-e", "answer"], "drop -e"),
        (["-e", "anser"], "did you mean 'answer'"),
        (["--judge", "nobody/at-all"], "nobody"),
        (["--set-name", "clapnqa"], "did you mean 'clapnq'"),
    ],
)
def test_wrong_options_are_one_line_before_anything_is_scored(tmp_path: Path, words: list[str], said: str) -> None:
    with pytest.raises(HarnessError, match=said):
        called(*words, "--results", str(tmp_path / "results"))
    assert not (tmp_path / "results").exists()
