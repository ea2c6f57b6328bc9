"""The folder of a report: it replaces what a report wrote, and nothing else."""

import errno
import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from harness.core.errors import ConfigError, StoreError
from harness.report.folder import LIST, is_current, report_folder


def write(out: Path, *names: str) -> None:
    with report_folder(out) as folder:
        for name in names:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text("report")


def files_of(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in {LIST, ".report.lock"}
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
    new = {"summary.md": "report", "figures/new.png": "report"}
    assert files_of(out) == {**new, "notes.txt": "mine", "figures/photo.png": "mine"}
    assert not (out / "tables").exists()
    assert json.loads((out / LIST).read_text())["files"] == ["figures/new.png", "summary.md"]


@pytest.mark.parametrize("name", ["figures/photo.png", "summary.md", "thesis.tex"])
def test_files_that_no_report_wrote_are_no_report(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    assert "holds other files than a report: name an empty folder with --out" in refusal(tmp_path, "summary.md")
    assert files_of(tmp_path) == {name: "mine"}


def test_a_file_of_ones_own_is_not_replaced_by_one_of_the_same_name(tmp_path: Path) -> None:
    write(tmp_path, "summary.md")
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "new.png").write_text("mine")
    assert "no report wrote it" in refusal(tmp_path, "summary.md", "figures/new.png")
    assert files_of(tmp_path) == {"summary.md": "report", "figures/new.png": "mine"}


@pytest.mark.parametrize("link", [".", "figures", "tables", ".report.lock", LIST])
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
    "files",
    ['["../mine.txt"]', '["/etc/passwd"]', '["a/b/c"]', '["figures/../x"]', '["src/x.py"]', "[3]", "7", None],
)
def test_a_list_that_leads_elsewhere_is_not_obeyed(tmp_path: Path, files: str | None) -> None:
    out = tmp_path / "out"
    write(out, "summary.md")
    (tmp_path / "mine.txt").write_text("mine")
    (out / LIST).write_text(f'{{"files": {files}}}' if files else "{")
    assert "is damaged" in refusal(out, "summary.md")
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_list_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / LIST)
    with pytest.raises(StoreError, match="pipe"):
        write(tmp_path, "summary.md")
    assert not is_current(tmp_path, "key")


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
    (tmp_path / ".report.killed.partial").mkdir()
    (tmp_path / ".report.killed.partial" / "half").write_text("")
    write(tmp_path, "summary.md", "figures/newer.png")
    assert files_of(tmp_path) == {"summary.md": "report", "figures/newer.png": "report"}


WRITER = """
import sys, time
from pathlib import Path
from harness.report.folder import report_folder

out, name = Path(sys.argv[1]), sys.argv[2]
for turn in range(5):
    sys.stdin.readline()
    with report_folder(out) as folder:
        (folder / "figures").mkdir()
        print("writing", flush=True)
        if name == "killed":
            time.sleep(600)
        for number in range(20):
            (folder / "figures" / f"{number}.png").write_text(f"{name} {turn}")
        (folder / f"only {name}.md").write_text(f"{name} {turn}")
        (folder / "report.html").write_text(f"{name} {turn} " * 10_000)
    print("written", flush=True)
"""


class Writer:
    """A process that writes a report whenever it is told to."""

    def __init__(self, out: Path, name: str) -> None:
        command = [sys.executable, "-c", WRITER, str(out), name]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1)

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def begin(self) -> None:
        assert self.process.stdin
        self.process.stdin.write("\n")

    def says(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()


@pytest.mark.slow
def test_of_reports_written_at_the_same_time_the_last_one_is_there_as_a_whole(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with ExitStack() as stack:
        writers = [stack.enter_context(Writer(out, name)) for name in "abcd"]
        for turn in range(5):
            for writer in writers:
                writer.begin()
            assert [(writer.says(), writer.says()) for writer in writers] == [("writing", "written")] * 4
            found = files_of(out)
            (name,) = (path[len("only ")] for path in found if path.startswith("only "))
            assert len(found) == 22
            assert found.pop("report.html") == f"{name} {turn} " * 10_000
            assert set(found.values()) == {f"{name} {turn}"}


@pytest.mark.slow
def test_a_killed_writer_leaves_nothing_behind_once_another_has_written(tmp_path: Path) -> None:
    with Writer(tmp_path, "killed") as killed, Writer(tmp_path, "other") as other:
        killed.begin()
        assert killed.says() == "writing"
        other.begin()
        assert (other.says(), other.says()) == ("writing", "written")
        killed.process.kill()
        killed.process.wait()
        other.begin()
        assert (other.says(), other.says()) == ("writing", "written")
    assert {path.name for path in tmp_path.iterdir()} == {
        *("report.html", "figures", "only other.md", LIST, ".report.lock")
    }


def test_a_report_is_current_while_its_key_and_all_its_files_are_there(tmp_path: Path) -> None:
    with report_folder(tmp_path, "k1") as folder:
        (folder / "summary.md").write_text("x")
    assert is_current(tmp_path, "k1")
    assert not is_current(tmp_path, "k2")
    assert not is_current(tmp_path, "")
    (tmp_path / "summary.md").unlink()
    assert not is_current(tmp_path, "k1")
