"""A user whom the system has no name for, as in a container with any uid."""

import pwd
from pathlib import Path

import pytest
from command_line import CommandLineHere
from labelled_runs import labelled_run
from question_reviews import question_file, rows_in


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLineHere:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)

    def unknown(uid: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    return CommandLineHere(tmp_path, {"RAG_HARNESS_CACHE": str(tmp_path / "cache")})


def test_who_reviews_has_to_be_named(here: CommandLineHere) -> None:
    file = question_file(here.folder)
    assert "--by" in here.refused("review", str(file), "--to-csv", "s.csv")
    assert here.call("review", str(file), "--to-csv", "s.csv", "--by", "ada").returncode == 0
    sheet = here.folder / "s.csv"
    sheet.write_text("id,decision\na,accept\n", encoding="utf-8")
    assert "--by" in here.refused("review", str(file), "--from-csv", "s.csv")
    assert rows_in(file)[0]["seen_by"] is None


def test_who_labels_has_to_be_named(here: CommandLineHere) -> None:
    run = labelled_run(here.results, n=3)
    assert "--annotator" in here.refused("annotate", run.run_id, "--csv", "s.csv")
    assert here.call("annotate", run.run_id, "--csv", "s.csv", "-a", "ada").returncode == 0
