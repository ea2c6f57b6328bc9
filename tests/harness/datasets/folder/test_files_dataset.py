"""The data set `files`, as a config names it."""

from pathlib import Path

import pytest

import harness.api as rag
from harness.core.errors import DataError
from harness.datasets.folder import dataset


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "oven.txt").write_text("The oven was built in 1931.")
    (tmp_path / "papers" / "photo.png").write_bytes(b"\x89PNG")
    (tmp_path / "asked.jsonl").write_text('{"question": "When was the oven built?", "answers": ["1931"]}\n')
    return tmp_path / "papers"


SETTINGS = {"models.generator.provider": "none", "models.embedder.provider": "fake"}


def test_a_folder_is_planned_from_python_and_the_same_files_elsewhere_are_the_same_run(papers: Path) -> None:
    here = rag.plan(docs=papers, questions="asked.jsonl", settings=SETTINGS)
    moved = papers.rename(papers.parent / "elsewhere")
    there = rag.plan(docs=str(moved), questions=papers.parent / "asked.jsonl", settings=SETTINGS)
    assert [name.rpartition("--")[0] for name in (here["run_id"][0], there["run_id"][0])] == [
        "papers--naive",
        "elsewhere--naive",
    ]
    assert [name.rpartition("--")[2] for name in here["run_id"]] == [
        name.rpartition("--")[2] for name in there["run_id"]
    ]
    assert list(here["n_documents"]) == [1]
    (moved / "oven.txt").write_text("The oven was built in 1932.")
    changed = rag.plan(docs=moved, questions="asked.jsonl", settings=SETTINGS)
    assert list(changed["run_id"]) != list(here["run_id"])


def test_without_questions_nothing_is_read_and_the_way_to_some_is_said(
    papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "read_folder", None)
    with pytest.raises(DataError, match=r"no question file given for the documents in .*rag-harness questions"):
        rag.plan(docs=papers, settings=SETTINGS)
    with pytest.raises(DataError, match=r"nowhere.jsonl cannot be read: .*: name a file of questions"):
        rag.plan(docs=papers, questions="nowhere.jsonl", settings=SETTINGS)


def test_plan_says_what_was_skipped_and_why(papers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from harness.api.config_building import DatasetChoice, as_settings, bench_configs
    from harness.cli.plan import print_plan

    configs = bench_configs(
        dataset=DatasetChoice(docs=papers, questions="asked.jsonl"), settings=as_settings(SETTINGS)
    )
    print_plan(configs, Path("results"), as_json=False)
    assert "papers: skipped photo.png: unsupported kind: .png" in capsys.readouterr().out
    print_plan(configs, Path("results"), as_json=True)
    assert '"files": [' in capsys.readouterr().out
