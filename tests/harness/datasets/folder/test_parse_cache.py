"""Files that were parsed before, and risky files in processes of their own."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

import pytest
from made_files import pdf, word

from harness.datasets.folder import parse_cache
from harness.datasets.folder.parse_cache import TOO_MUCH, Answer
from harness.datasets.folder.text_cleanup import ReadFile, ReadText


class Parsing:
    """Stands for the processes: what it says of a file's content, and how often it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.meanwhile: tuple[Path, str] | None = None

    def __call__(self, files: Mapping[str, tuple[Path, str]]) -> Iterator[tuple[str, Answer]]:
        for name, (path, _) in files.items():
            self.asked.append(name)
            text = path.read_text()
            if self.meanwhile:
                self.meanwhile[0].write_text(self.meanwhile[1])
            is_refused = text.startswith("not: ")
            documents = {"documents": list(map(asdict, read(text).documents))}
            yield name, {"why": text.removeprefix("not: ")} if is_refused else documents


@pytest.fixture
def parsing(monkeypatch: pytest.MonkeyPatch) -> Parsing:
    own = Parsing()
    monkeypatch.setattr(parse_cache, "parse_all", own)
    return own


def read(text: str) -> ReadFile:
    return ReadFile([ReadText(text, title="t", remarks={"pages": 2}), ReadText("rows", part="rows 2-51")])


def found(path: Path) -> ReadFile:
    ((_, parsed),) = parse_cache.parse_or_recall({"a": (path, ".pdf")})
    return parsed


def test_the_same_bytes_are_parsed_once_wherever_they_lie(tmp_path: Path, parsing: Parsing) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text("text \ud7ff")
    assert found(tmp_path / "one") == found(tmp_path / "two") == read("text \ud7ff")
    (tmp_path / "one").write_text("other")
    assert found(tmp_path / "one") == read("other")
    assert len(parsing.asked) == 2


def test_a_reason_is_kept_unless_it_is_about_the_machine(tmp_path: Path, parsing: Parsing) -> None:
    (tmp_path / "scan").write_text("not: without text")
    (tmp_path / "large").write_text(f"not: {min(TOO_MUCH)}")
    for _ in range(2):
        assert found(tmp_path / "scan").refused == [("", "without text")]
        assert found(tmp_path / "large").refused == [("", min(TOO_MUCH))]
    assert len(parsing.asked) == 3


def test_a_damaged_or_unwritable_cache_entry_and_a_file_that_changed_are_parsed_again(
    tmp_path: Path, parsing: Parsing
) -> None:
    (tmp_path / "two").write_text("before")
    parsing.meanwhile = tmp_path / "two", "after!"
    found(tmp_path / "two")
    assert not [*Path(os.environ["RAG_HARNESS_CACHE"]).rglob("*.json")]
    parsing.meanwhile = None
    (tmp_path / "one").write_text("right")
    found(tmp_path / "one")
    cache = Path(os.environ["RAG_HARNESS_CACHE"])
    (place,) = cache.rglob("*.json")
    place.write_text(place.read_text().replace("right", "wrong"))
    assert found(tmp_path / "one") == read("right")
    place.unlink()
    place.parent.rmdir()
    place.parent.write_text("in the way")
    assert found(tmp_path / "one") == read("right")
    assert len(parsing.asked) == 4


@pytest.mark.slow
def test_a_file_that_exceeds_the_limits_of_a_process_is_skipped_and_the_others_are_read(tmp_path: Path) -> None:
    contents = {
        "a.pdf": pdf(["one"]),
        "bomb.html": b"<p>x" * 1_500_000,  # A few megabytes are a tree of several hundred.
        "c.docx": word([("Normal", "three")]),
        "d.pdf": b"%PDF-1.7 nothing",
        "e.html": b"",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    files = {name: (tmp_path / name, Path(name).suffix) for name in contents}
    answers = parse_cache.parse_all(files, most_memory=200_000_000)
    found = {name: one.get("why") or one["documents"][0]["text"] for name, one in answers}
    assert found == {
        "a.pdf": "one\n",
        "bomb.html": "takes too much memory to read",
        "c.docx": "three",
        "d.pdf": "damaged PDF file",
        "e.html": "without text",
    }
