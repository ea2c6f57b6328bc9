"""What is drawn is the same for all, blind and mixed; what is said of it is kept and found again."""

import json
from collections import Counter
from pathlib import Path

import pytest
from labelled_runs import keep_labels, labelled_run

from harness.core.errors import ConfigError
from harness.extensions.annotation.label_scales import SCALE_SETS
from harness.extensions.annotation.labelling_session import annotation_page, draw_answers, open_session
from harness.extensions.annotation.terminal import write_label_sheet
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


def test_without_any_answer_there_is_nothing_to_label(tmp_path: Path) -> None:
    run = labelled_run(tmp_path)
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
