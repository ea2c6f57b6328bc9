"""The data set `files`, as a config names it."""

import json
from pathlib import Path

import pytest

import harness.api as rag
from harness.api.config_building import DatasetChoice, as_settings, bench_configs
from harness.cli.plan import print_plan
from harness.core.errors import DataError
from harness.datasets.folder import dataset
from harness.protocols import no_progress
from harness.runner.language_check import language_lines
from harness.runner.plan import plan_cells


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
    names, digests = zip(*(one["run_id"][0].rsplit("--", 1) for one in (here, there)), strict=True)
    assert names == ("papers--naive", "elsewhere--naive")
    assert len({*digests}) == 1
    assert list(here["n_documents"]) == [1]
    (moved / "oven.txt").write_text("The oven was built in 1932.")
    changed = rag.plan(docs=moved, questions="asked.jsonl", settings=SETTINGS)
    assert list(changed["run_id"]) != list(here["run_id"])


def test_without_questions_nothing_is_read_and_the_error_says_how_to_write_some(
    papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "read_folder", None)
    with pytest.raises(DataError, match=r"no question file given for the documents in .*rag-harness questions"):
        rag.plan(docs=papers, settings=SETTINGS)
    with pytest.raises(DataError, match=r"nowhere.jsonl cannot be read: .*: name a file of questions"):
        rag.plan(docs=papers, questions="nowhere.jsonl", settings=SETTINGS)


def test_a_plan_without_questions_says_what_can_be_read_and_what_would_run(
    papers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (papers / "prices.csv").write_text("Item,Price\n" + "Oak,12\n" * 60)
    (papers / "text.txt").write_text("Das Lager ist in der Stadt, und der Leiter hat den Plan.")
    (papers / ".env").write_text("KEY=sk-0123456789")
    for folder in (".git", "node_modules", "work"):
        (papers / folder).mkdir()
        (papers / folder / "a.txt").write_text("no document")
    (papers / "work" / "pyvenv.cfg").write_text("home = /usr")
    configs = bench_configs(dataset=DatasetChoice(docs=papers), settings=["models.embedder.provider=fake"])
    print_plan(configs, Path("results"), as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["kinds"] == {
        ".csv": {"files": 1, "documents": 2, "characters": 60 * len("Item: Oak; Price: 12\n")},
        ".txt": {"files": 2, "documents": 2, "characters": 83},
    }
    assert told["languages"]["German"] == 1
    assert sorted(line.split(":")[0] for line in told["skipped"]) == ["skipped .env", "skipped photo.png"]
    assert any("hidden (1)" in note and "a folder of packages (2)" in note for note in told["notes"])
    assert {cell["system"] for cell in told["cells"]} == {"naive", "kg", "community", "closed-book"}
    print_plan(configs, Path("results"), as_json=False)
    assert f"rag-harness questions {papers}" in capsys.readouterr().out


def test_questions_in_the_folder_are_no_document_and_a_part_is_found_by_its_quote(papers: Path) -> None:
    (papers / "prices.csv").write_text(
        "Item,Price\n" + "".join(f"Oak {number},{number}\n" for number in range(99))
    )
    asked = papers / "asked.csv"
    asked.write_text('question,answer,document,quote\nPrice?,70,prices.csv,"Item: Oak 70; Price: 70"\n')
    read = dataset.load("default", dataset.FilesParams(path=papers, questions=asked), no_progress)
    assert [document.doc_id for document in read.documents] == [
        "oven.txt",
        "prices.csv#rows 2-51",
        "prices.csv#rows 52-100",
    ]
    assert "skipped asked.csv: the question file" in read.skipped
    assert read.rows[0].doc_ids == ("prices.csv#rows 52-100",)
    asked.write_text("question,answer,document\nPrice?,70,prices.csv\n")
    with pytest.raises(DataError, match=r"line 2: .*'prices.csv#rows 2-51'"):
        dataset.load("default", dataset.FilesParams(path=papers, questions=asked), no_progress)


FRENCH = "Le plan de la ville est dans le rapport et il est fini."


@pytest.mark.parametrize(
    ("embedder", "text", "is_warned"),
    [
        (["provider=minilm"], "\u5009\u5eab\u306f\u5317\u306b\u3042\u308a\u307e\u3059\u3002", True),
        (["provider=minilm"], "The store is in the town, and it has a plan.", False),
        (["provider=ollama", "model=all-minilm:latest"], FRENCH, True),
        (["provider=ollama", "model=bge-m3"], FRENCH, False),
    ],
)
def test_an_embedder_for_english_is_one_warning_if_the_documents_are_in_other_languages(
    papers: Path, embedder: list[str], text: str, is_warned: bool
) -> None:
    (papers / "0.txt").write_text(text)
    settings = [f"models.embedder.{setting}" for setting in embedder]
    choice = DatasetChoice(docs=papers, questions="asked.jsonl")
    settings.append("models.generator.provider=none")
    (config,) = bench_configs(systems=["naive"], dataset=choice, settings=settings)
    lines = language_lines(plan_cells(config))
    assert len(lines) == is_warned
    assert all("--set models.embedder.provider=sentence-transformers" in line for line in lines)


@pytest.mark.parametrize(("extractor", "n_parts"), [("nlp", 2), ("bounded", 1)])
def test_a_parser_for_english_is_named_in_the_same_warning_with_the_systems_that_use_it(
    papers: Path, extractor: str, n_parts: int
) -> None:
    (papers / "lager.txt").write_text("Das Lager ist in der Stadt, und der Leiter hat den Plan.")
    choice = DatasetChoice(docs=papers, questions="asked.jsonl")
    settings = [f"index.extractor={extractor}", "models.embedder.provider=minilm"]
    (config,) = bench_configs(systems=["kg"], dataset=choice, settings=settings)
    (line,) = language_lines(plan_cells(config))
    assert line.count("--set ") == n_parts + 1
    assert ("(kg)" in line) is (extractor == "nlp")


def test_plan_says_what_was_skipped_and_why(papers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    choice = DatasetChoice(docs=papers, questions="asked.jsonl")
    print_plan(bench_configs(dataset=choice, settings=as_settings(SETTINGS)), Path("results"), as_json=False)
    assert "papers: skipped photo.png: unsupported kind: .png" in capsys.readouterr().out
