"""`questions` from the command line and from Python, with a model and without."""

import csv
import json
from pathlib import Path

import pytest
from command_line import CommandLineHere
from question_writers import FERRY, YARD, draft

from harness.extensions.testset.api import questions

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


def test_a_template_quotes_each_kind_of_file_and_no_sentence_or_row_twice(handbook: Path, tmp_path: Path) -> None:
    (handbook / "leave copy.md").write_text(FACTS["leave.md"])
    (handbook / "budget.csv").write_text(
        "Department,Budget 2025 EUR,Owner\nWorkshop and yard,1250000,Yuki Tanabe\n"
        "Total of all the departments in one row,,\n"
    )
    assert CommandLineHere(tmp_path).call("questions", str(handbook), "--template", "asked.csv").returncode == 0
    rows = read(tmp_path / "asked.csv")
    quotes = [row["quote"] for row in rows]
    assert len(set(quotes)) == len(quotes) == 5
    assert not any("\n" in quote for quote in quotes)
    few = CommandLineHere(tmp_path).call("questions", str(handbook), "--template", "few.csv", "--n", "2")
    assert few.returncode == 0
    assert {Path(row["document"]).suffix for row in read(tmp_path / "few.csv")} == {".md", ".csv"}


def test_a_template_quotes_sentences_and_neither_headers_of_mails_nor_blocks_of_lines(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    mail = "From: Ada Moen, the harbour office\nTo: Bo Lind, the yard of Tarnby\nSubject: The crane\n\n"
    sentence = "The crane of the Tarnby yard was checked on 3 May and may lift 40 tonnes."
    address = "Tarnby yard and slipway\nQuay 4, second shed\n9 Harbour Road\nTarnby\nNorway\n\n"
    (docs / "crane.eml").write_text(f"{mail}{address}{sentence}\n")
    (docs / "note.md").write_text(f"{address}{sentence.replace('crane', 'ferry')}\n")
    assert CommandLineHere(tmp_path).call("questions", "docs", "--template", "asked.csv").returncode == 0
    quotes = [row["quote"] for row in read(tmp_path / "asked.csv")]
    assert sorted(quotes) == [sentence, sentence.replace("crane", "ferry")]


@pytest.mark.parametrize(("budget", "code"), [((), 3), (("--set", "budget.tokens=1"), 4)])
def test_where_nothing_survives_the_last_line_names_a_model_and_the_template(
    handbook: Path, tmp_path: Path, budget: tuple[str, ...], code: int
) -> None:
    here = CommandLineHere(tmp_path, {"RAG_HARNESS_CACHE": str(tmp_path / "cache")})
    fake = f"models.generator.options={json.dumps({'reply': draft('When was this founded?', '1911')})}"
    models = ("--set", "models.generator.provider=fake", "--set", fake, "--set", "models.embedder.provider=none")
    done = here.call("questions", str(handbook), "--kind", "single_fact", "--n", "2", *models, *budget)
    assert done.returncode == code, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    if budget:  # No candidate yet says nothing about the model.
        assert last.split()[-1].startswith("budget.tokens=")
        return
    assert "models.generator.model=" in last
    assert last.endswith(f"rag-harness questions '{handbook}' --template questions.csv")
    assert "rag-harness review questions.jsonl" in done.stdout


@pytest.mark.parametrize("name", ["asked.jsonl", "hand book/asked.csv", "there.csv"])
def test_a_template_replaces_nothing_and_is_no_document(name: str, handbook: Path, tmp_path: Path) -> None:
    (tmp_path / "there.csv").write_text("mine")
    CommandLineHere(tmp_path).refused("questions", str(handbook), "--template", name)
    assert (tmp_path / "there.csv").read_text() == "mine"
    assert not (handbook / "asked.csv").exists()


FAKE = {
    "replies": {
        r'"question"(.|\n)*Document A \(Lowmere': draft("Who chairs the board of Lowmere?", "Hanne Olvik", "A3"),
        r'"question"': draft("When was this yard founded?", "1911", "A1"),
        "no documents": "Insufficient information",
    },
    "reply": "Hanne Olvik",
}


def test_a_frame_has_every_candidate_with_the_verdict_of_every_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_HARNESS_CACHE", str(tmp_path / "cache"))
    papers = tmp_path / "papers"
    papers.mkdir()
    for document in (FERRY, YARD):
        (papers / document.doc_id).write_text(f"# {document.title}\n\n{document.text}\n", encoding="utf-8")
    settings = {
        "models.generator.provider": "fake",
        "models.generator.options": FAKE,
        "models.embedder.provider": "none",
    }
    out = tmp_path / "asked.jsonl"
    found = questions(papers, out=out, n=1, kinds="single_fact", seed=1, settings=settings, quiet=True)
    assert out.exists()
    kept, dropped = found[found["survives"]], found[~found["survives"]]
    assert list(kept["question"]) == ["Who chairs the board of Lowmere?"]
    assert list(kept["closed_book"]) == [True]
    assert set(dropped["self_contained"]) == {False}
    assert dropped["follows"].isna().all()
