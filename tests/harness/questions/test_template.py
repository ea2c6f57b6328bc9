"""`questions --template`: a sheet of quotes that a person turns into questions, without a model."""

import csv
from pathlib import Path

import pytest
from command_line import CommandLineHere

FACTS = {
    "leave.md": "Employees have 28 days of leave in a calendar year. Unused days expire on the last day of March.",
    "garage.md": "The garage below the main building closes at 22:00. Visitors park on the second level of it.",
}


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    folder = tmp_path / "hand book"
    folder.mkdir()
    for name, text in FACTS.items():
        (folder / name).write_text(text)
    return folder


def read(sheet: Path) -> list[dict[str, str]]:
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_a_filled_in_template_is_a_question_file_with_evidence(handbook: Path, tmp_path: Path) -> None:
    here, sheet = CommandLineHere(tmp_path), tmp_path / "asked.csv"
    assert here.call("questions", str(handbook), "--template", "asked.csv", "--n", "3").returncode == 0
    rows = read(sheet)
    assert len(rows) == 3
    assert {row["document"] for row in rows} == set(FACTS)
    assert all(row["quote"] in FACTS[row["document"]] and not row["question"] + row["answers"] for row in rows)
    here.refused("plan", "--docs", str(handbook), "--questions", "asked.csv")

    rows[0] |= {"question": "How many days of leave are there?", "answers": "28"}
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    planned = here.call("plan", "--docs", str(handbook), "--questions", "asked.csv")
    assert planned.returncode == 0
    assert "2 of 3 rows" in planned.stdout
    assert "0/1" in planned.stdout


@pytest.mark.parametrize("name", ["asked.jsonl", "hand book/asked.csv", "there.csv"])
def test_a_template_replaces_nothing_and_is_no_document(name: str, handbook: Path, tmp_path: Path) -> None:
    (tmp_path / "there.csv").write_text("mine")
    CommandLineHere(tmp_path).refused("questions", str(handbook), "--template", name)
    assert (tmp_path / "there.csv").read_text() == "mine"
    assert not (handbook / "asked.csv").exists()
