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


def test_the_last_of_what_was_said_of_the_same_counts(run: RunDir) -> None:
    keep_labels(run, "ada", "faithfulness", {"q000": 1, "q001": 2})
    keep_labels(run, "ada", "faithfulness", {"q000": 5})
    assert [(one.query_id, one.label) for one in read_annotations(run)] == [("q000", 5), ("q001", 2)]


def test_the_same_annotator_is_at_work_once(run: RunDir) -> None:
    with (
        opened_annotations(run, "ada"),
        pytest.raises(StoreError, match="another process"),
        opened_annotations(run, "ada"),
    ):
        pass


def test_a_line_that_a_kill_tore_is_passed_over_and_cut_by_the_next_writer(run: RunDir) -> None:
    keep_labels(run, "ada", "faithfulness", {"q000": 1, "q001": 2})
    path = run.path / "annotations" / "ada.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    assert [one.query_id for one in read_annotations(run)] == ["q000"]
    keep_labels(run, "ada", "faithfulness", {"q002": 3})
    assert [one.query_id for one in read_annotations(run)] == ["q000", "q002"]


@pytest.mark.parametrize(
    ("old", "new"),
    [('"label":1', '"label":5'), ('"label":1', '"label":9'), ('"q000"', '"q003"'), (',"check"', ',"x"')],
)
def test_a_line_that_was_changed_is_told_with_its_number(run: RunDir, old: str, new: str) -> None:
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


def test_nothing_is_written_through_a_link(run: RunDir, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (run.path / "annotations").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="is a link"):
        keep_labels(run, "ada", "faithfulness", {"q000": 1})
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("name", ["", "../ada", ".ada", "a b", "a" * 61, "a/b"])
def test_a_name_that_is_no_file_name_is_one_line(run: RunDir, name: str) -> None:
    with pytest.raises(ConfigError, match="--annotator"), opened_annotations(run, name):
        pass
