"""What is drawn is the same for all, blind and mixed; what is said of it is kept and found again."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from labelled_runs import FORMULA, keep_labels, labelled_run
from question_reviews import sheet_rows, write_rows

from harness.core.errors import ConfigError, DataError
from harness.extensions.annotation.annotator_agreement import agreement_content, agreements
from harness.extensions.annotation.label_scales import SCALE_SETS
from harness.extensions.annotation.labelling_session import annotation_page, draw_answers, open_session
from harness.extensions.annotation.terminal import LabelsTaken, take_label_sheet, write_label_sheet, write_labels
from harness.extensions.meta_evaluation.correlation_columns import read_labels
from harness.store import RunDir
from harness.store.annotations import read_annotations


@pytest.fixture
def runs(tmp_path: Path) -> list[RunDir]:
    return [labelled_run(tmp_path, system) for system in ("naive", "kg")]


def test_every_annotator_and_every_run_has_the_same_queries_of_each_type_its_share(runs: list[RunDir]) -> None:
    ada, grace = (draw_answers(runs, 0.2, 0, name).items for name in ("ada", "grace"))
    by_run = [{one.query_id for one in ada if one.run is run} for run in runs]
    assert by_run[0] == by_run[1]
    assert {one.item_id for one in ada} == {one.item_id for one in grace}
    assert [one.item_id for one in ada] != [one.item_id for one in grace]
    assert Counter(one.row.reference.query_type for one in ada) == {"one": 4, "other": 4}


def test_a_larger_fraction_adds_to_a_smaller_one(runs: list[RunDir]) -> None:
    some, more = ({one.item_id for one in draw_answers(runs, part, 0, "ada").items} for part in (0.1, 0.5))
    assert some < more
    assert len(draw_answers(runs, 1.0, 0, "ada").items) == 40


def test_what_has_no_answer_is_counted_and_not_shown(tmp_path: Path) -> None:
    run = labelled_run(tmp_path)
    lines = (run.path / "records.jsonl").read_text().splitlines(keepends=True)
    (run.path / "records.jsonl").write_text("".join(lines[5:]))
    drawn = draw_answers([run], 1.0, 0, "ada")
    assert (len(drawn.items), drawn.n_failed, drawn.n_unanswered) == (15, 5, 5)
    (run.path / "records.jsonl").unlink()
    with pytest.raises(ConfigError, match="none of the answers"):
        draw_answers([run], 1.0, 0, "ada")


def test_the_page_is_told_neither_run_nor_system_nor_query(runs: list[RunDir]) -> None:
    with open_session(draw_answers(runs, 1.0, 0, "ada"), "ada") as session:
        page = annotation_page(session)
        told = json.dumps([page.gets["/items"]({}), *(page.gets["/item"]({"id": one}) for one in _ids(page))])
    assert "d--" not in told
    assert '"score"' not in told
    assert not any(run.run_id in told for run in runs)


def _ids(page: object) -> list[str]:
    return [one["id"] for one in page.gets["/items"]({})]  # type: ignore[attr-defined]


def test_what_was_said_before_is_found_again_by_whoever_goes_on(runs: list[RunDir]) -> None:
    drawn = draw_answers(runs, 1.0, 0, "ada")
    item = next(one for one in drawn.items if one.run is runs[0])
    with open_session(drawn, "ada") as session:
        session.keep([session.label(item, "faithfulness", 4, cannot_tell=False), session.note(item, "odd")])
        session.keep([session.label(item, "response_relevancy", None, cannot_tell=True)])
    keep_labels(runs[0], "grace", "context_relevancy", {item.query_id: 1})
    with open_session(drawn, "ada") as session:
        said = session.labels_of(item)
        assert set(said) == {"faithfulness", "response_relevancy", None}
        assert not session.is_complete(item)
        session.keep([session.label(item, "faithfulness", None, cannot_tell=False)])
        assert "faithfulness" not in session.labels_of(item)


def test_the_scales_of_rag_eval_are_asked_instead_and_in_the_sheet(runs: list[RunDir], tmp_path: Path) -> None:
    drawn = draw_answers(runs[:1], 0.1, 0, "ada", SCALE_SETS["rag-eval"])
    with open_session(drawn, "ada") as session:
        asked = [scale.dimension for scale in drawn.asked_of(drawn.items[0])]
        assert len(asked) == 6
        session.keep([session.label(drawn.items[0], name, 4, cannot_tell=False) for name in asked])
        assert session.n_complete == 1
        with pytest.raises(ConfigError, match="not asked"):
            session.label(drawn.items[0], "faithfulness", 4, cannot_tell=False)
        sheet = tmp_path / "sheet.csv"
        write_label_sheet(session, sheet)
    assert "coverage,coherence,fluency,quality,note" in sheet.read_text().splitlines()[0]
    assert {one.dimension for one in read_annotations(runs[0])} == set(asked)


def test_nothing_is_asked_of_contexts_that_are_not_there(tmp_path: Path) -> None:
    from paired_runs import ScoredRun, write_run

    run = write_run(tmp_path, ScoredRun(scores={"m": [1.0] * 4}))
    drawn = draw_answers([run], 1.0, 0, "ada")
    with open_session(drawn, "ada") as session:
        item = drawn.items[0]
        with pytest.raises(ConfigError, match="not asked"):
            session.label(item, "faithfulness", 4, cannot_tell=False)
        for dimension in ("factual_correctness", "response_relevancy"):
            session.keep([session.label(item, dimension, 4, cannot_tell=False)])
        assert session.n_complete == 1


# What annotators say together, and what cannot be told.


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return labelled_run(tmp_path)


def of(first: int, n: int, label: int | None = None) -> dict[str, int]:
    return {f"q{number:03d}": label or 1 + number % 5 for number in range(first, first + n)}


def test_alpha_of_all_and_kappa_of_each_two_stand_beside_each_other(run: RunDir) -> None:
    for name in ("ada", "grace", "mary"):
        keep_labels(run, name, "faithfulness", of(0, 12))
    found = [one for one in agreements(read_annotations(run)) if one.dimension == "faithfulness"]
    assert [one.statistic for one in found] == ["alpha", "kappa", "kappa", "kappa"]
    assert [(one.figure.n_items, one.figure.value) for one in found] == [(12, 1.0)] * 4


def test_annotators_of_different_answers_are_told_how_to_see_the_same(run: RunDir) -> None:
    keep_labels(run, "ada", "faithfulness", of(0, 10))
    keep_labels(run, "grace", "faithfulness", of(10, 10))
    said = " ".join(agreement_content(read_annotations(run)).items)
    assert "ada and grace have labelled no answer both" in said


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], "Nobody has labelled."),
        (["ada"], "Only ada has labelled"),
        (["ada", "grace"], "all labels are equal"),
    ],
)
def test_without_agreement_there_is_a_reason(run: RunDir, names: list[str], said: str) -> None:
    for name in names:
        keep_labels(run, name, "faithfulness", of(0, 20, label=5))
    content = agreement_content(read_annotations(run))
    assert any(said in one for one in (*content.paragraphs, *map(str, content.items)))


# A sheet goes out, is filled in with gaps, and comes back; what cannot be taken is one line with its row.


Rows = list[dict[str, str]]


@pytest.fixture
def labelled(tmp_path: Path) -> RunDir:
    return labelled_run(tmp_path / "results", n=4, said={"q000": FORMULA})


@pytest.fixture
def sheet(labelled: RunDir, tmp_path: Path) -> Path:
    with open_session(draw_answers([labelled], 1.0, 0, "ada"), "ada") as session:
        assert write_label_sheet(session, tmp_path / "sheet.csv") == 4
    return tmp_path / "sheet.csv"


def fill(sheet: Path, change: Callable[[Rows], None]) -> None:
    rows = sheet_rows(sheet)
    change(rows)
    write_rows(sheet, rows)


def take(labelled: RunDir, sheet: Path) -> LabelsTaken:
    with open_session(draw_answers([labelled], 1.0, 0, "ada"), "ada") as session:
        return take_label_sheet(session, sheet)


def test_what_is_filled_in_is_kept_and_gaps_are_fine(labelled: RunDir, sheet: Path) -> None:
    def some(rows: Rows) -> None:
        rows[0] |= {"faithfulness": "4", "factual_correctness": "5.0", "note": "odd"}
        rows[2]["context_relevancy"] = "cannot tell"

    fill(sheet, some)
    assert take(labelled, sheet) == LabelsTaken(items=2, labels=2, cannot_tell=1, left=4)
    assert take(labelled, sheet).items == 0, "what was said before is not said again"
    said = [(one.dimension, one.label, one.cannot_tell) for one in read_annotations(labelled)]
    assert sorted(map(str, said)) == [
        "('context_relevancy', None, True)",
        "('factual_correctness', 5, False)",
        "('faithfulness', 4, False)",
        "(None, None, False)",
    ]


@pytest.mark.parametrize("label", ["0.5", "6", "-1", "good", "１", "1e0", "nan"])  # noqa: RUF001
def test_a_label_outside_the_scale_is_one_line_with_its_row_and_nothing_is_taken(
    labelled: RunDir, sheet: Path, label: str
) -> None:
    def wrong(rows: Rows) -> None:
        rows[0]["faithfulness"] = "4"
        rows[2]["faithfulness"] = label

    fill(sheet, wrong)
    with pytest.raises(DataError, match=r"row 4, faithfulness: the label .* is outside its scale"):
        take(labelled, sheet)
    assert read_annotations(labelled) == []


@pytest.mark.parametrize(
    ("same", "trouble"),
    [(False, "row 3: there is no item '0123456789ab'"), (True, r"row 3: the item .* occurs twice")],
)
def test_an_item_that_was_not_drawn_or_stands_there_twice_is_one_line_with_its_row(
    labelled: RunDir, sheet: Path, same: bool, trouble: str
) -> None:
    fill(sheet, lambda rows: rows[1].update(item=rows[0]["item"] if same else "0123456789ab"))
    with pytest.raises(DataError, match=trouble):
        take(labelled, sheet)


def test_no_cell_is_a_formula_and_no_sheet_is_overwritten(labelled: RunDir, sheet: Path) -> None:
    assert f"'{FORMULA}" in {row["answer"] for row in sheet_rows(sheet)}
    with (
        open_session(draw_answers([labelled], 1.0, 0, "ada"), "ada") as session,
        pytest.raises(ConfigError, match="is there already"),
    ):
        write_label_sheet(session, sheet)


def test_a_sheet_takes_back_no_label_that_was_given_on_the_page_since(labelled: RunDir, tmp_path: Path) -> None:
    keep_labels(labelled, "ada", "faithfulness", {"q000": 2, "q001": 2})
    sheet = tmp_path / "later.csv"
    with open_session(draw_answers([labelled], 1.0, 0, "ada"), "ada") as session:
        write_label_sheet(session, sheet)
    keep_labels(labelled, "ada", "faithfulness", {"q000": 5})

    def another_column(rows: Rows) -> None:
        for row in rows:
            as_fraction = row["faithfulness"] and f"{row['faithfulness']}.0"
            row |= {"context_relevancy": "3", "faithfulness": as_fraction}

    fill(sheet, another_column)
    assert take(labelled, sheet) == LabelsTaken(items=4, labels=4, cannot_tell=0, left=4)
    said = {one.query_id: one.label for one in read_annotations(labelled) if one.dimension == "faithfulness"}
    assert said == {"q000": 5, "q001": 2}


def test_what_replaces_a_label_given_since_is_counted(labelled: RunDir, sheet: Path) -> None:
    keep_labels(labelled, "ada", "faithfulness", {f"q{number:03d}": 5 for number in range(4)})
    fill(sheet, lambda rows: rows[0].update(faithfulness="1", context_relevancy="2"))
    assert take(labelled, sheet) == LabelsTaken(items=1, labels=2, cannot_tell=0, left=4, replaced=1)
    labels = [one.label for one in read_annotations(labelled) if one.dimension == "faithfulness"]
    assert sorted(map(str, labels)) == ["1", "5", "5", "5"]
    assert take(labelled, sheet) == LabelsTaken(items=0, labels=0, cannot_tell=0, left=4)


def test_everybodys_labels_come_back_from_their_table(labelled: RunDir, tmp_path: Path) -> None:
    keep_labels(labelled, "ada", "faithfulness", {"q000": 4, "q001": 1})
    keep_labels(labelled, "grace", "context_relevancy", {"q000": 2})
    write_labels(read_annotations(labelled), tmp_path / "labels.csv")
    assert read_labels(tmp_path / "labels.csv", (1.0, 5.0)).labels == (
        (labelled.run_id, "q000", "ada", "faithfulness", 4.0),
        (labelled.run_id, "q001", "ada", "faithfulness", 1.0),
        (labelled.run_id, "q000", "grace", "context_relevancy", 2.0),
    )
