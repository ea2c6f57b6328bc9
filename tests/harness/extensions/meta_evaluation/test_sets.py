"""Labelled sets: the real ones as their authors count them, and files with the faults that such files have."""

import json
from itertools import chain
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from harness.core.errors import ConfigError, DataError, HarnessError
from harness.datasets.local_files import ENV
from harness.extensions.meta_evaluation.commands import validate
from harness.extensions.meta_evaluation.labelled_sets import SETS, load_set

from .conftest import Write, pair

SHAPES = {
    "ragchecker": (560, 280, ["correctness", "completeness", "overall"], {2}),
    "clapnq": (300, 100, ["faithfulness", "answer_relevance", "fluency"], {3}),
    "neural_bridge": (100, 100, ["quality"], {1}),
    "ms_marco_hard": (400, 200, ["relevance"], {1}),
}


@pytest.mark.parametrize("name", SETS)
def test_the_real_files_hold_what_is_said_of_them(
    name: str, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENV, str(data_folder))
    human = load_set(name)
    people = {len(row.labels) for one in human.dimensions for row in one.rows}
    found = (len(human.items), len(human.question_ids), [one.name for one in human.dimensions], people)
    assert found == SHAPES[name]
    known = {item.item_id for item in human.items}
    assert {item for one in human.dimensions for row in one.rows for item in row.item_ids} <= known


def test_a_missing_label_leaves_the_other_persons_and_is_counted(pairs: Write) -> None:
    pairs([*chain.from_iterable(map(pair, range(11))), *pair(11, None), *pair(12, None, "")])
    human = load_set("ragchecker")
    overall = human.dimensions[2]
    assert [len(row.labels) for row in overall.rows] == [2] * 11 + [1]
    assert "2 pairs with a missing label of overall" in human.notes


@pytest.mark.parametrize("label", [3, -2.5, "good", True, "nan"])
def test_a_label_outside_its_scale_is_one_line_that_names_the_row(pairs: Write, label: object) -> None:
    pairs([*pair(0), *pair(1, label)])
    with pytest.raises(DataError, match=r"row 3: the label .* is not from -2 to 2"):
        load_set("ragchecker")


def test_people_who_were_shown_different_texts_did_not_compare_the_same(pairs: Write) -> None:
    rows = pair(0)
    rows[1]["gt_answer"] = "Another."
    pairs(rows)
    with pytest.raises(DataError, match="different texts"):
        load_set("ragchecker")


@pytest.mark.parametrize("contexts", ["open('x')", "[1]", "['a'", "{}"])
def test_contexts_that_are_no_list_of_texts_are_refused_and_never_run(graded: Write, contexts: str) -> None:
    graded([{}, {"contexts": contexts}])
    with pytest.raises(DataError, match=r"line 3: field 'contexts' is no list of texts"):
        load_set("neural_bridge")


def test_a_row_without_a_label_is_counted_and_has_no_part(graded: Write) -> None:
    graded([{}] * 12 + [{"Human label": " "}])
    human = load_set("neural_bridge")
    assert (len(human.dimensions[0].rows), human.notes) == (12, ("1 answers without a label",))


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("name", SETS)
def test_a_file_that_is_not_there_is_one_line_with_the_way_out(name: str) -> None:
    with pytest.raises(DataError, match=f"(?s)is not there.*{ENV}"):
        load_set(name)


def test_a_part_of_a_set_is_whole_questions_the_same_for_the_same_seed_and_at_least_ten(pairs: Write) -> None:
    pairs(list(chain.from_iterable(map(pair, range(30)))))
    human = load_set("ragchecker")
    part = human.drawn(12)
    assert part.question_ids == human.drawn(12).question_ids != human.drawn(12, seed=1).question_ids
    assert (len(part.items), [len(one.rows) for one in part.dimensions]) == (24, [12, 12, 12])
    assert human.drawn(30) is human
    with pytest.raises(ConfigError, match="fewer than 10 questions is meaningless"):
        human.drawn(9)
    pairs(list(chain.from_iterable(map(pair, range(9)))))
    with pytest.raises(DataError, match="fewer than 10 say nothing"):
        load_set("ragchecker").drawn(None)


# `rag-harness validate` as a user calls it, on a small set.


APP = typer.Typer()
APP.command()(validate)


@pytest.fixture
def labelled(pairs: Write) -> None:
    """Twelve pairs, the better answer holding more of the reference; one person is of another mind at times."""
    longer = [1 + n % 4 - n % 3 for n in range(12)]
    rows = [pair(n, min(2, more), min(2, more - 1 + n % 2)) for n, more in enumerate(longer)]
    pairs(list(chain.from_iterable(rows)))


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
def test_what_cannot_be_is_one_line_before_anything_is_scored(tmp_path: Path, words: list[str], said: str) -> None:
    with pytest.raises(HarnessError, match=said):
        called(*words, "--results", str(tmp_path / "results"))
    assert not (tmp_path / "results").exists()
