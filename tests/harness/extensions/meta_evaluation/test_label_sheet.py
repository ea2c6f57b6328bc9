from pathlib import Path

import pytest

from harness.core.errors import ConfigError, DataError
from harness.extensions.meta_evaluation.correlation_columns import LabelSheet, parse_scale, read_labels


def sheet(folder: Path, *lines: str) -> Path:
    path = folder / "labels.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def read(folder: Path, *lines: str) -> LabelSheet:
    return read_labels(sheet(folder, *lines), (1.0, 5.0))


def test_a_wide_sheet_has_a_dimension_for_each_column_of_numbers(tmp_path: Path) -> None:
    found = read(tmp_path, "query_id,answer,faithfulness,fluency", "q1,It is 5.,4,", "q2,No.,1,5")
    assert found.dimensions == ("faithfulness", "fluency")
    assert found.means("faithfulness") == {("", "q1"): 4.0, ("", "q2"): 1.0}
    assert found.n_empty == 1


def test_a_long_sheet_names_its_dimensions(tmp_path: Path) -> None:
    found = read(tmp_path, "item,run,dimension,label", "q1,naive,fluency,5", "q2,naive,fluency,Cannot tell")
    assert found.n_empty == 1
    assert found.means("fluency") == {("naive", "q1"): 5.0}


def test_what_several_people_say_of_one_answer_is_averaged_and_said(tmp_path: Path) -> None:
    found = read(tmp_path, "query_id,annotator,grade", "q1,ann,4", "q1,ben,2", "q2,ben,1")
    assert found.means("grade") == {("", "q1"): 3.0, ("", "q2"): 1.0}
    assert found.said_of("grade") == "grade: 2 answers labelled by 2 people, 1 by more than one"


def test_people_who_labelled_different_answers_cannot_be_held_against_each_other(tmp_path: Path) -> None:
    said = read(tmp_path, "query_id,annotator,grade", "q1,ann,4", "q2,ben,1").said_of("grade")
    assert "0 by more than one: strict people and bad answers cannot be distinguished" in said


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("query_id,grade", "q1,6"), "labels.csv line 2: grade '6' is outside the scale 1 to 5"),
        (("query_id,grade", "q1,3", "q2,good"), "line 3: grade 'good' is no number"),
        (("query_id,label", "q1,nan"), "'nan' is no number"),
        (("query_id,grade", "q1,3", "q1,4"), "labels grade of q1 twice"),
        (("query_id,grade", "q1,"), "has no labels"),
        (("query,grade", "q1,3"), "has no column query_id"),
    ],
)
def test_what_is_no_label_is_one_line_that_says_where(tmp_path: Path, lines: tuple[str, ...], said: str) -> None:
    with pytest.raises(DataError) as refused:
        read(tmp_path, *lines)
    assert said in str(refused.value)


def test_a_file_that_is_not_there_is_a_file_of_labels(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="name a CSV of labels"):
        read_labels(tmp_path / "none.csv")


def test_a_scale_is_two_numbers() -> None:
    assert (parse_scale("1-5"), parse_scale("-2..2"), parse_scale("0..1.5")) == ((1, 5), (-2, 2), (0, 1.5))
    for text in ("5", "5-1", "a-b", "1..nan"):
        with pytest.raises(ConfigError):
            parse_scale(text)
