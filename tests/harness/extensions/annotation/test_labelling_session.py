"""Drawing answers, labelling them on the page or in a sheet, and the agreement of annotators."""

import json
from collections import Counter
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from labelled_runs import FORMULA, keep_labels, labelled_run
from paired_runs import ScoredRun, write_run
from question_reviews import fill, sheet_rows

from harness.core.errors import ConfigError, DataError
from harness.extensions.annotation.label_scales import SCALE_SETS
from harness.extensions.annotation.labelling_session import (
    LabellingSession,
    annotation_page,
    draw_answers,
    open_session,
)
from harness.extensions.annotation.terminal import (
    LabelsTaken,
    agreement_content,
    agreements,
    take_label_sheet,
    write_everybodys_labels,
    write_label_sheet,
)
from harness.extensions.meta_evaluation.correlation_columns import read_labels
from harness.store import RunDir
from harness.store.annotations import read_annotations


@pytest.fixture
def runs(tmp_path: Path) -> list[RunDir]:
    return [labelled_run(tmp_path, system) for system in ("naive", "kg")]


def adas_session(*runs: RunDir) -> AbstractContextManager[LabellingSession]:
    return open_session(draw_answers(runs, 1.0, 0, "ada"), "ada")


def test_the_queries_drawn_are_the_same_for_all_runs_and_annotators_and_grow_with_the_share(
    runs: list[RunDir],
) -> None:
    ada, grace = (draw_answers(runs, 0.2, 0, name).items for name in ("ada", "grace"))
    by_run = [{one.query_id for one in ada if one.run is run} for run in runs]
    assert by_run[0] == by_run[1]
    assert {one.item_id for one in ada} == {one.item_id for one in grace}
    assert [one.item_id for one in ada] != [one.item_id for one in grace]
    assert Counter(one.row.reference.query_type for one in ada) == {"one": 4, "other": 4}
    assert {one.item_id for one in ada} < {one.item_id for one in draw_answers(runs, 0.5, 0, "ada").items}
    assert len(draw_answers(runs, 1.0, 0, "ada").items) == 40


def test_queries_without_an_answer_are_counted_and_not_shown(tmp_path: Path) -> None:
    run = labelled_run(tmp_path)
    lines = (run.path / "records.jsonl").read_text().splitlines(keepends=True)
    (run.path / "records.jsonl").write_text("".join(lines[5:]))
    drawn = draw_answers([run], 1.0, 0, "ada")
    assert (len(drawn.items), drawn.n_failed, drawn.n_unanswered) == (15, 5, 5)
    (run.path / "records.jsonl").unlink()
    with pytest.raises(ConfigError, match="none of the answers"):
        draw_answers([run], 1.0, 0, "ada")


def test_the_page_shows_neither_run_nor_system_nor_query_id(runs: list[RunDir]) -> None:
    with adas_session(*runs) as session:
        gets = annotation_page(session).gets
        shown = json.dumps([gets["/item"]({"id": one.item_id}) for one in session.drawn.items])
        shown += json.dumps(gets["/items"]({}))
    assert "first of q000" in shown
    assert not any(word in shown for word in ("d--", '"score"', *(run.run_id for run in runs)))


def test_a_later_session_finds_the_labels_of_its_annotator(runs: list[RunDir]) -> None:
    with adas_session(*runs) as session:
        item = next(one for one in session.drawn.items if one.run is runs[0])
        session.keep([session.label(item, "faithfulness", 4), session.note(item, "odd")])
        session.keep([session.label(item, "response_relevancy", None, cannot_tell=True)])
    keep_labels(runs[0], "grace", "context_relevancy", {item.query_id: 1})
    with adas_session(*runs) as session:
        assert set(session.labels_of(item)) == {"faithfulness", "response_relevancy", None}
        assert not session.is_complete(item)
        session.keep([session.label(item, "faithfulness", None)])
        assert "faithfulness" not in session.labels_of(item)


def test_the_scales_of_rag_eval_are_asked_instead_and_in_the_sheet(runs: list[RunDir], tmp_path: Path) -> None:
    drawn = draw_answers(runs[:1], 0.1, 0, "ada", SCALE_SETS["rag-eval"])
    with open_session(drawn, "ada") as session:
        asked = [scale.dimension for scale in drawn.items[0].asked]
        assert len(asked) == 6
        session.keep([session.label(drawn.items[0], name, 4) for name in asked])
        assert session.n_complete == 1
        with pytest.raises(ConfigError, match="not asked"):
            session.label(drawn.items[0], "faithfulness", 4)
        sheet = tmp_path / "sheet.csv"
        write_label_sheet(session, sheet)
    assert "coverage,coherence,fluency,quality,note" in sheet.read_text().splitlines()[0]
    assert {one.dimension for one in read_annotations(runs[0])} == set(asked)


def test_nothing_is_asked_about_missing_contexts(tmp_path: Path) -> None:
    (item, *_) = draw_answers([write_run(tmp_path, ScoredRun(scores={"m": [1.0] * 4}))], 1.0, 0, "ada").items
    assert [scale.dimension for scale in item.asked] == ["factual_correctness", "response_relevancy"]


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return labelled_run(tmp_path)


def test_agreement_is_alpha_of_all_and_kappa_of_each_two(run: RunDir) -> None:
    for name in ("ada", "grace", "mary"):
        keep_labels(run, name, "faithfulness", {f"q{number:03d}": 1 + number % 5 for number in range(12)})
    found = [one for one in agreements(read_annotations(run)) if one.scale.dimension == "faithfulness"]
    assert [one.statistic for one in found] == ["alpha", "kappa", "kappa", "kappa"]
    assert [(one.figure.n_items, one.figure.value) for one in found] == [(12, 1.0)] * 4


@pytest.mark.parametrize(
    ("labelled_by", "said"),
    [
        ({}, "Nobody has labelled."),
        ({"ada": range(20)}, "Only ada has labelled"),
        ({"ada": range(20), "grace": range(20)}, "all labels are equal"),
        ({"ada": range(10), "grace": range(10, 20)}, "ada and grace have labelled no answer in common"),
    ],
)
def test_without_agreement_there_is_a_reason(run: RunDir, labelled_by: dict[str, range], said: str) -> None:
    for name, numbers in labelled_by.items():
        keep_labels(run, name, "faithfulness", {f"q{number:03d}": 5 for number in numbers})
    content = agreement_content(read_annotations(run))
    assert any(said in one for one in (*content.paragraphs, *content.items))


@pytest.fixture
def labelled(tmp_path: Path) -> RunDir:
    return labelled_run(tmp_path / "results", n=4, said={"q000": FORMULA})


@pytest.fixture
def sheet(labelled: RunDir, tmp_path: Path) -> Path:
    with adas_session(labelled) as session:
        assert write_label_sheet(session, tmp_path / "sheet.csv") == 4
    return tmp_path / "sheet.csv"


def take(labelled: RunDir, sheet: Path) -> LabelsTaken:
    with adas_session(labelled) as session:
        return take_label_sheet(session, sheet)


def test_filled_in_cells_are_kept_and_empty_ones_ignored(labelled: RunDir, sheet: Path) -> None:
    some = {"faithfulness": "4", "factual_correctness": "5.0", "note": "odd"}
    fill(sheet, some, {}, {"context_relevancy": "cannot tell"}, {})
    assert take(labelled, sheet) == LabelsTaken(items=2, labels=2, cannot_tell=1)
    assert take(labelled, sheet).items == 0, "the same sheet adds nothing"
    said = [(one.dimension, one.label, one.cannot_tell) for one in read_annotations(labelled)]
    assert sorted(map(str, said)) == [
        "('context_relevancy', None, True)",
        "('factual_correctness', 5, False)",
        "('faithfulness', 4, False)",
        "(None, None, False)",
    ]


@pytest.mark.parametrize("label", ["0.5", "6", "good", "１", "nan"])  # noqa: RUF001
def test_a_label_outside_the_scale_is_one_line_with_its_row_and_nothing_is_taken(
    labelled: RunDir, sheet: Path, label: str
) -> None:
    fill(sheet, {"faithfulness": "4"}, {}, {"faithfulness": label}, {})
    with pytest.raises(DataError, match=r"row 4, faithfulness: the label .* is outside its scale"):
        take(labelled, sheet)
    assert read_annotations(labelled) == []


@pytest.mark.parametrize(("item", "trouble"), [("0123456789ab", "there is no item"), ("", "occurs twice")])
def test_an_unknown_or_repeated_item_is_one_line_with_its_row(
    labelled: RunDir, sheet: Path, item: str, trouble: str
) -> None:
    fill(sheet, {}, {"item": item or sheet_rows(sheet)[0]["item"]}, {}, {})
    with pytest.raises(DataError, match=f"row 3: .*{trouble}"):
        take(labelled, sheet)


def test_no_cell_is_a_formula_and_no_sheet_is_overwritten(labelled: RunDir, sheet: Path) -> None:
    assert f"'{FORMULA}" in {row["answer"] for row in sheet_rows(sheet)}
    with adas_session(labelled) as session, pytest.raises(ConfigError, match="is there already"):
        write_label_sheet(session, sheet)


def test_a_sheet_replaces_no_later_label_of_the_page_unless_its_cell_was_changed(
    labelled: RunDir, tmp_path: Path
) -> None:
    keep_labels(labelled, "ada", "faithfulness", {"q000": 2, "q001": 2})
    sheet = tmp_path / "later.csv"
    with adas_session(labelled) as session:
        write_label_sheet(session, sheet)
    keep_labels(labelled, "ada", "faithfulness", {"q000": 5})

    # A spreadsheet may turn whole numbers into decimals.
    given = [row["faithfulness"] for row in sheet_rows(sheet)]
    fill(sheet, *({"context_relevancy": "3", "faithfulness": label and f"{label}.0"} for label in given))
    assert take(labelled, sheet) == LabelsTaken(items=4, labels=4, cannot_tell=0)
    assert faithfulness(labelled) == {"q000": 5, "q001": 2}
    fill(sheet, *({"faithfulness": label and "1"} for label in given))
    assert take(labelled, sheet) == LabelsTaken(items=2, labels=2, cannot_tell=0, replaced=1)
    assert faithfulness(labelled) == {"q000": 1, "q001": 1}


def faithfulness(run: RunDir) -> dict[str, int | None]:
    return {one.query_id: one.label for one in read_annotations(run) if one.dimension == "faithfulness"}


def test_everybodys_labels_come_back_from_their_table(labelled: RunDir, tmp_path: Path) -> None:
    keep_labels(labelled, "ada", "faithfulness", {"q000": 4, "q001": 1})
    keep_labels(labelled, "grace", "context_relevancy", {"q000": 2})
    write_everybodys_labels([labelled], tmp_path / "labels.csv")
    assert read_labels(tmp_path / "labels.csv", (1.0, 5.0)).labels == (
        (labelled.run_id, "q000", "ada", "faithfulness", 4.0),
        (labelled.run_id, "q001", "ada", "faithfulness", 1.0),
        (labelled.run_id, "q000", "grace", "context_relevancy", 2.0),
    )
