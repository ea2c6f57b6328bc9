"""What annotators say together, and what cannot be told."""

from pathlib import Path

import pytest
from labelled_runs import keep_labels, labelled_run

from harness.extensions.annotation.annotator_agreement import agreement_content, agreements
from harness.store import RunDir
from harness.store.annotations import read_annotations


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


def test_labels_that_never_vary_have_a_reason_and_no_figure(run: RunDir) -> None:
    for name in ("ada", "grace"):
        keep_labels(run, name, "faithfulness", of(0, 20, label=5))
    content = agreement_content(read_annotations(run))
    assert any("all labels are equal" in one for one in content.items)


@pytest.mark.parametrize(("names", "said"), [([], "Nobody has labelled."), (["ada"], "Only ada has labelled")])
def test_agreement_takes_two(run: RunDir, names: list[str], said: str) -> None:
    for name in names:
        keep_labels(run, name, "faithfulness", of(0, 20))
    assert said in agreement_content(read_annotations(run)).paragraphs[0]
