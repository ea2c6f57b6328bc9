"""The folder of a report: it replaces what a report wrote, and nothing else."""

import errno
import json
import os
from pathlib import Path

import pytest

from harness.errors import ConfigError, StoreError
from harness.report.folder import LIST, report_folder


def write(out: Path, *names: str) -> None:
    with report_folder(out) as folder:
        for name in names:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text("report")


def files_of(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != LIST
    }


def refusal(out: Path, *names: str) -> str:
    with pytest.raises(ConfigError) as refused:
        write(out, *names)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_of_an_earlier_report_nothing_is_left_and_of_other_files_everything(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, "summary.md", "figures/old.png", "tables/old.csv")
    (out / "notes.txt").write_text("mine")
    (out / "figures" / "photo.png").write_text("mine")
    write(out, "summary.md", "figures/new.png")
    assert files_of(out) == {
        "summary.md": "report",
        "figures/new.png": "report",
        "notes.txt": "mine",
        "figures/photo.png": "mine",
    }
    assert not (out / "tables").exists()
    assert json.loads((out / LIST).read_text()) == ["figures/new.png", "summary.md"]


@pytest.mark.parametrize(
    "name", ["figures/photo.png", "summary.md", "report.html", "tables/mine.csv", "thesis.tex"]
)
def test_files_that_no_report_wrote_are_no_report(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    assert "holds other files than a report: name an empty folder with --out" in refusal(tmp_path, "summary.md")
    assert files_of(tmp_path) == {name: "mine"}


def test_a_file_of_ones_own_is_not_replaced_by_one_of_the_same_name(tmp_path: Path) -> None:
    write(tmp_path, "summary.md")
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "new.png").write_text("mine")
    assert "new.png is there, and no report wrote it" in refusal(tmp_path, "summary.md", "figures/new.png")
    assert files_of(tmp_path) == {"summary.md": "report", "figures/new.png": "mine"}


@pytest.mark.parametrize("link", [".", "figures", "tables", ".report.partial", LIST])
def test_a_link_is_not_followed(tmp_path: Path, link: str) -> None:
    elsewhere, out = tmp_path / "elsewhere", tmp_path / "out"
    elsewhere.mkdir()
    (elsewhere / "photo.png").write_text("mine")
    if link != ".":
        out.mkdir()
    (out / link).symlink_to(elsewhere)
    assert "is a link, and a report follows none" in refusal(out, "figures/photo.png")
    assert files_of(elsewhere) == {"photo.png": "mine"}


def test_a_file_of_a_report_that_became_a_link_is_neither_followed_nor_replaced(tmp_path: Path) -> None:
    write(tmp_path, "summary.md", "figures/a.png")
    mine = tmp_path / "mine.md"
    mine.write_text("mine")
    (tmp_path / "summary.md").unlink()
    (tmp_path / "summary.md").symlink_to(mine)
    assert "no report wrote it" in refusal(tmp_path, "summary.md")
    assert mine.read_text() == "mine"
    write(tmp_path, "report.html")
    assert mine.read_text() == "mine"


@pytest.mark.parametrize(
    "listed",
    ["{", "3", '["../mine.txt"]', '["/etc/passwd"]', '["a/b/c"]', '["figures/../x"]', "[3]", '["src/x.py"]'],
)
def test_a_list_that_leads_elsewhere_is_not_obeyed(tmp_path: Path, listed: str) -> None:
    out = tmp_path / "out"
    write(out, "summary.md")
    (tmp_path / "mine.txt").write_text("mine")
    (out / LIST).write_text(listed)
    assert "it does not say what the report wrote" in refusal(out, "summary.md")
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_report_that_fails_leaves_the_earlier_one_as_it_was(tmp_path: Path) -> None:
    write(tmp_path, "summary.md", "figures/old.png")
    before = files_of(tmp_path)
    with pytest.raises(StoreError, match="no space left on the disk"), report_folder(tmp_path) as folder:
        (folder / "summary.md").write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert files_of(tmp_path) == before


def test_a_report_that_was_killed_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "summary.md", "figures/old.png")
    moved = []
    replace = Path.replace

    def killed(self: Path, target: Path) -> Path:
        if Path(target).suffix in {".png", ".md"}:
            moved.append(target)
            if len(moved) > 1:
                raise KeyboardInterrupt
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path, "figures/new.png", "summary.md")
    (tmp_path / ".report.partial").mkdir()
    (tmp_path / ".report.partial" / "half").write_text("")
    write(tmp_path, "summary.md", "figures/newer.png")
    assert files_of(tmp_path) == {"summary.md": "report", "figures/newer.png": "report"}
