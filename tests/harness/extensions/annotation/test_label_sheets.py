"""A sheet goes out, is filled in with gaps, and comes back; what cannot be taken is one line with its row."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from labelled_runs import FORMULA, keep_labels, labelled_run

from harness.core.errors import ConfigError, DataError
from harness.extensions.annotation.labelling_session import draw_answers, open_session
from harness.extensions.annotation.terminal import LabelsTaken, take_label_sheet, write_label_sheet, write_labels
from harness.extensions.meta_evaluation.correlation_columns import read_labels
from harness.store import RunDir
from harness.store.annotations import read_annotations

Rows = list[dict[str, str]]


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return labelled_run(tmp_path / "results", n=4, said={"q000": FORMULA})


@pytest.fixture
def sheet(run: RunDir, tmp_path: Path) -> Path:
    with open_session(draw_answers([run], 1.0, 0, "ada"), "ada") as session:
        assert write_label_sheet(session, tmp_path / "sheet.csv") == 4
    return tmp_path / "sheet.csv"


def fill(sheet: Path, change: Callable[[Rows], None]) -> None:
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    change(rows)
    with sheet.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def take(run: RunDir, sheet: Path) -> LabelsTaken:
    with open_session(draw_answers([run], 1.0, 0, "ada"), "ada") as session:
        return take_label_sheet(session, sheet)


def test_what_is_filled_in_is_kept_and_gaps_are_fine(run: RunDir, sheet: Path) -> None:
    def some(rows: Rows) -> None:
        rows[0] |= {"faithfulness": "4", "factual_correctness": "5.0", "note": "odd"}
        rows[2]["context_relevancy"] = "cannot tell"

    fill(sheet, some)
    assert take(run, sheet) == LabelsTaken(items=2, labels=2, cannot_tell=1, left=4)
    assert take(run, sheet).items == 0, "what was said before is not said again"
    said = [(one.dimension, one.label, one.cannot_tell) for one in read_annotations(run)]
    assert sorted(map(str, said)) == [
        "('context_relevancy', None, True)",
        "('factual_correctness', 5, False)",
        "('faithfulness', 4, False)",
        "(None, None, False)",
    ]


@pytest.mark.parametrize("label", ["0.5", "6", "-1", "good", "１", "1e0", "nan"])  # noqa: RUF001
def test_a_label_outside_the_scale_is_one_line_with_its_row_and_nothing_is_taken(
    run: RunDir, sheet: Path, label: str
) -> None:
    def wrong(rows: Rows) -> None:
        rows[0]["faithfulness"] = "4"
        rows[2]["faithfulness"] = label

    fill(sheet, wrong)
    with pytest.raises(DataError, match=r"row 4, faithfulness: the label .* is outside its scale"):
        take(run, sheet)
    assert read_annotations(run) == []


def test_an_item_that_was_not_drawn_is_one_line_with_its_row(run: RunDir, sheet: Path) -> None:
    fill(sheet, lambda rows: rows[1].update(item="0123456789ab"))
    with pytest.raises(DataError, match="row 3: there is no item '0123456789ab'"):
        take(run, sheet)


def test_an_item_that_stands_there_twice_is_one_line(run: RunDir, sheet: Path) -> None:
    fill(sheet, lambda rows: rows[1].update(item=rows[0]["item"]))
    with pytest.raises(DataError, match=r"row 3: the item .* occurs twice"):
        take(run, sheet)


def test_no_cell_is_a_formula_and_no_sheet_is_overwritten(run: RunDir, sheet: Path) -> None:
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        answers = {row["answer"] for row in csv.DictReader(file)}
    assert f"'{FORMULA}" in answers
    with (
        open_session(draw_answers([run], 1.0, 0, "ada"), "ada") as session,
        pytest.raises(ConfigError, match="is there already"),
    ):
        write_label_sheet(session, sheet)


def test_a_sheet_takes_back_no_label_that_was_given_on_the_page_since(run: RunDir, tmp_path: Path) -> None:
    keep_labels(run, "ada", "faithfulness", {"q000": 2, "q001": 2})
    sheet = tmp_path / "later.csv"
    with open_session(draw_answers([run], 1.0, 0, "ada"), "ada") as session:
        write_label_sheet(session, sheet)
    keep_labels(run, "ada", "faithfulness", {"q000": 5})

    def another_column(rows: Rows) -> None:
        for row in rows:
            as_fraction = row["faithfulness"] and f"{row['faithfulness']}.0"
            row |= {"context_relevancy": "3", "faithfulness": as_fraction}

    fill(sheet, another_column)
    assert take(run, sheet) == LabelsTaken(items=4, labels=4, cannot_tell=0, left=4)
    said = {one.query_id: one.label for one in read_annotations(run) if one.dimension == "faithfulness"}
    assert said == {"q000": 5, "q001": 2}


def test_what_replaces_a_label_given_since_is_counted(run: RunDir, sheet: Path) -> None:
    keep_labels(run, "ada", "faithfulness", {f"q{number:03d}": 5 for number in range(4)})
    fill(sheet, lambda rows: rows[0].update(faithfulness="1", context_relevancy="2"))
    assert take(run, sheet) == LabelsTaken(items=1, labels=2, cannot_tell=0, left=4, replaced=1)
    labels = [one.label for one in read_annotations(run) if one.dimension == "faithfulness"]
    assert sorted(map(str, labels)) == ["1", "5", "5", "5"]
    assert take(run, sheet) == LabelsTaken(items=0, labels=0, cannot_tell=0, left=4)


def test_everybodys_labels_come_back_from_their_table(run: RunDir, tmp_path: Path) -> None:
    keep_labels(run, "ada", "faithfulness", {"q000": 4, "q001": 1})
    keep_labels(run, "grace", "context_relevancy", {"q000": 2})
    write_labels(read_annotations(run), tmp_path / "labels.csv")
    assert read_labels(tmp_path / "labels.csv", (1.0, 5.0)).labels == (
        (run.run_id, "q000", "ada", "faithfulness", 4.0),
        (run.run_id, "q001", "ada", "faithfulness", 1.0),
        (run.run_id, "q000", "grace", "context_relevancy", 2.0),
    )
