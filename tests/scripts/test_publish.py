"""scripts/publish: replaces the files of a published result, and touches nothing else."""

import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import REPOSITORY

MADE = ("report.html", "summary.csv", "summary.md", "figures/accuracy_by_type.svg")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with the script and a report, and files of one's own where the example goes."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(REPOSITORY / "scripts" / "publish", tmp_path / "scripts")
    for name in MADE:
        path = tmp_path / "report" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# New\n![other](figures/other.svg)\n![kept](figures/accuracy_by_type.svg)\n")
    mine = tmp_path / "results" / "published" / "demo" / "figures"
    mine.mkdir(parents=True)
    (mine / "photo.png").write_text("mine")
    (mine.parent / "summary.md").write_text("# Old\n")
    return tmp_path


def publish(repository: Path, name: str = "demo", *flags: str) -> "subprocess.CompletedProcess[str]":
    command = [str(repository / "scripts" / "publish"), *flags, "report", name, "accuracy_by_type.svg"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_files_of_ones_own_stay_and_links_are_not_followed(repository: Path) -> None:
    demo, elsewhere = repository / "results" / "published" / "demo", repository / "elsewhere"
    elsewhere.write_text("mine")
    (demo / "summary.csv").symlink_to(elsewhere)
    assert publish(repository).returncode == 0
    assert (demo / "figures" / "photo.png").read_text() == "mine"
    assert elsewhere.read_text() == "mine"
    assert (demo / "summary.md").read_text() == "# New\n![kept](figures/accuracy_by_type.svg)\n"
    assert all((demo / name).is_file() for name in MADE)


def test_what_is_no_report_is_one_line_and_the_example_stays(repository: Path) -> None:
    (repository / "report" / "report.html").unlink()
    refused = publish(repository)
    assert refused.returncode == 2
    assert refused.stderr == "error: report holds no report.html: name the folder of a report\n"
    assert (repository / "results" / "published" / "demo" / "summary.md").read_text() == "# Old\n"


def test_a_page_with_texts_of_others_is_left_out_where_asked(repository: Path) -> None:
    assert publish(repository).returncode == 0
    done = publish(repository, "demo", "--no-page")
    assert (done.returncode, done.stderr) == (0, "the page is not kept: the same config makes it again\n")
    demo = repository / "results" / "published" / "demo"
    assert not (demo / "report.html").exists()
    assert (demo / "summary.csv").is_file()


def test_a_page_that_is_too_large_to_keep_is_left_out_and_said_so(repository: Path) -> None:
    (repository / "report" / "report.html").write_bytes(b" " * (5 << 20))
    done = publish(repository, "other")
    assert (done.returncode, done.stderr) == (
        0,
        "the page has over 4 MB and is not kept: the same config makes it again\n",
    )
    other = repository / "results" / "published" / "other"
    assert sorted(path.name for path in other.iterdir()) == ["figures", "summary.csv", "summary.md"]


@pytest.mark.parametrize("name", ["../demo", "", ".."])
def test_a_name_that_leads_elsewhere_is_refused(repository: Path, name: str) -> None:
    assert publish(repository, name).returncode == 2
    assert not (repository / "results" / "summary.csv").exists()
