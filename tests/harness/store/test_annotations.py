"""What people said is on the disk at once, survives a kill, and damage to it is told."""

from pathlib import Path

import pytest
from labelled_runs import keep_labels, labelled_run

from harness.core.errors import ConfigError, StoreError
from harness.store import RunDir
from harness.store.annotations import opened_annotations, read_annotations


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return labelled_run(tmp_path, n=4)


def test_the_last_label_of_the_same_answer_counts_and_an_annotator_works_once_at_a_time(run: RunDir) -> None:
    keep_labels(run, "ada", "faithfulness", {"q000": 1, "q001": 2})
    keep_labels(run, "ada", "faithfulness", {"q000": 5})
    assert [(one.query_id, one.label) for one in read_annotations(run)] == [("q000", 5), ("q001", 2)]
    with (
        opened_annotations(run, "ada"),
        pytest.raises(StoreError, match="another process"),
        opened_annotations(run, "ada"),
    ):
        pass


def test_a_torn_line_is_ignored_and_cut_by_the_next_writer(run: RunDir) -> None:
    keep_labels(run, "ada", "faithfulness", {"q000": 1, "q001": 2})
    path = run.path / "annotations" / "ada.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    assert [one.query_id for one in read_annotations(run)] == ["q000"]
    keep_labels(run, "ada", "faithfulness", {"q002": 3})
    assert [one.query_id for one in read_annotations(run)] == ["q000", "q002"]


@pytest.mark.parametrize(("old", "new"), [('"label":1', '"label":5'), (',"check"', ',"x"')])
def test_a_changed_line_is_reported_with_its_number(run: RunDir, old: str, new: str) -> None:
    keep_labels(run, "ada", "faithfulness", {"q000": 1})
    path = run.path / "annotations" / "ada.jsonl"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(StoreError, match=r"ada\.jsonl line 1 is damaged"):
        read_annotations(run)


def test_labels_of_another_run_are_not_taken_for_those_of_this_one(run: RunDir, tmp_path: Path) -> None:
    other = labelled_run(tmp_path, system="kg", n=4)
    keep_labels(other, "ada", "faithfulness", {"q000": 1})
    (run.path / "annotations").mkdir()
    copied = (other.path / "annotations" / "ada.jsonl").read_bytes()
    (run.path / "annotations" / "ada.jsonl").write_bytes(copied)
    with pytest.raises(StoreError, match="another run"):
        read_annotations(run)


def test_labels_are_not_written_through_a_link_or_under_an_invalid_name(run: RunDir, tmp_path: Path) -> None:
    for name in ("", "../ada", ".ada", "a b", "a" * 61):
        with pytest.raises(ConfigError, match="--annotator"), opened_annotations(run, name):
            pass
    (tmp_path / "elsewhere").mkdir()
    (run.path / "annotations").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="is a link"):
        keep_labels(run, "ada", "faithfulness", {"q000": 1})
    assert list((tmp_path / "elsewhere").iterdir()) == []
