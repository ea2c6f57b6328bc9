"""`rag-harness questions`, with the fake as writer and judge: what is kept, resumed, refused and read again."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLineHere
from question_reviews import sheet_rows, write_rows
from question_writers import FERRY, MILL, YARD, draft

from harness.core.errors import ConfigError, StoreError
from harness.datasets.question_files import read_questions
from harness.display.text_format import duration
from harness.extensions.testset.model_checks import QuestionJudging
from harness.extensions.testset.output import planned_lines
from harness.extensions.testset.question_records import WorkFolder
from harness.extensions.testset.review_session import open_review
from harness.extensions.testset.write_questions import (
    PlannedWriting,
    WriteOptions,
    Written,
    plan_questions,
    write_questions,
)
from harness.runner.estimating.model_speed import ModelSpeed
from harness.runner.progress import Reporter
from harness.store.call_journal import paid_by_runs

QUIET = Reporter(quiet=True)
DOCUMENTS = (FERRY, YARD, MILL)
ASKED_ABOUT = r'"question".*\n.*Document A \('
REPLIES = {
    f"{ASKED_ABOUT}Lowmere ferry": draft("Who chairs the harbour board of Lowmere?", "Hanne Olvik", "A3"),
    f"{ASKED_ABOUT}Tarnby yard": draft("When was the Tarnby yard founded?", "1911", "A1"),
    f"{ASKED_ABOUT}Corrie Mill": draft("What does the Corrie Mill grind?", "oats", "A1"),
    r"no documents": "Insufficient information",
    r'"same"': '{"same": false}',
    r"<passages>(.|\n)*<question>\nWho chairs": "Hanne Olvik",
    r"<passages>(.|\n)*<question>\nWhen was": "1911",
    r"<passages>(.|\n)*<question>\nWhat does": "Oats.",
}


def planned(
    out: Path,
    *,
    total: int = 3,
    latency_s: float = 0.0,
    began: float | None = None,
    **budget: float,
) -> PlannedWriting:
    papers = out.parent / "papers"
    papers.mkdir(exist_ok=True)
    for document in DOCUMENTS:
        (papers / document.doc_id).write_text(f"# {document.title}\n\n{document.text}\n", encoding="utf-8")
    fake = {"provider": "fake", "options": {"replies": REPLIES, "latency_s": latency_s}}
    models = {"generator": fake, "judge": fake, "embedder": {"provider": "none"}}
    settings = (f"models={json.dumps(models)}", *(f"budget.{name}={most}" for name, most in budget.items()))
    began = time.monotonic() if began is None else began
    return plan_questions(
        WriteOptions(papers, out=out, total=total, kinds=("single_fact",), settings=settings, began=began), QUIET
    )


def written(out: Path, **changes: Any) -> Written:
    return write_questions(planned(out, **changes), QUIET)


def paid(out: Path) -> int:
    return sum(usage.calls for usage in paid_by_runs(WorkFolder(out).path / "calls.sqlite").values())


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_HARNESS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "asked.jsonl"


def test_written_questions_are_a_question_file_and_cost_what_was_estimated(out: Path) -> None:
    plan = planned(out)
    expected = sum(usage.calls for usage in plan.estimate.usage.values())
    done = write_questions(plan, QUIET)
    assert done.kept == 3
    assert WorkFolder(out).candidates() == list(done.candidates)
    asked = read_questions(out, DOCUMENTS)
    assert {row.query.text: row.reference.answers for row in asked.rows} == {
        "Who chairs the harbour board of Lowmere?": ("Hanne Olvik",),
        "When was the Tarnby yard founded?": ("1911",),
        "What does the Corrie Mill grind?": ("oats",),
    }
    assert all(row.reference.evidence[0].fact for row in asked.rows)
    assert "3 of 3 questions written by a model ('fake/fake'); 3 of these without human review" in asked.notes
    # Second opinions are asked only where an answer is not the same by rule.
    assert expected - 3 <= paid(out) <= expected


def test_the_same_command_again_changes_nothing_and_restores_a_lost_file_from_the_journal(out: Path) -> None:
    first, text, calls = written(out), out.read_text(), paid(out)
    changed_at = out.stat().st_mtime_ns
    again = written(out)
    assert again.was_complete
    assert again.candidates == first.candidates
    assert out.stat().st_mtime_ns == changed_at
    out.unlink()
    assert not written(out).was_complete
    assert (out.read_text(), paid(out)) == (text, calls)


def test_more_questions_pay_for_the_new_ones_alone(out: Path) -> None:
    written(out, total=1)
    first = out.read_text()
    written(out, total=3)
    assert out.read_text().startswith(first)
    whole = out.with_name("whole.jsonl")
    written(whole, total=3)
    assert out.read_text() == whole.read_text()
    # The control of the judge is another where there are others to swap with.
    assert paid(whole) <= paid(out) <= paid(whole) + 1


def test_a_file_that_somebody_wrote_or_changed_is_never_overwritten(out: Path) -> None:
    out.write_text("mine\n")
    with pytest.raises(ConfigError, match="is there already"):
        written(out)
    assert out.read_text() == "mine\n"
    out.unlink()
    written(out, total=1)
    out.write_text(changed := out.read_text().replace("null", '"ada"'))
    with pytest.raises(ConfigError, match="was changed since it was written"):
        written(out, total=3)
    assert out.read_text() == changed


@pytest.mark.parametrize("was_complete", [True, False])
def test_a_file_that_is_changed_while_questions_are_written_is_left_alone_and_both_are_kept(
    out: Path, monkeypatch: pytest.MonkeyPatch, was_complete: bool
) -> None:
    if was_complete:
        written(out, total=1)

    def changed_meanwhile(*words: Any) -> Any:
        with out.open("a", encoding="utf-8") as file:
            file.write('{"question": "What did I add by hand?"}\n')
        return QuestionJudging(*words)

    plan = planned(out)
    monkeypatch.setattr("harness.extensions.testset.write_questions.QuestionJudging", changed_meanwhile)
    with pytest.raises(ConfigError):
        write_questions(plan, QUIET)
    monkeypatch.undo()
    assert [json.loads(line)["question"] for line in out.read_text().splitlines()][was_complete:] == [
        "What did I add by hand?"
    ]
    kept = WorkFolder(out).path / "written.jsonl"
    assert len(kept.read_text().splitlines()) == 3
    other = out.with_name("other.jsonl")
    written(other)
    assert kept.read_text() == other.read_text()


def test_a_file_under_review_is_not_written(out: Path) -> None:
    written(out, total=1)
    plan, before = planned(out), out.read_text()
    with open_review(out, "ada"), pytest.raises(StoreError):
        write_questions(plan, QUIET)
    assert out.read_text() == before


def test_a_budget_that_ends_in_the_middle_keeps_what_is_finished_and_a_larger_one_ends_the_same(out: Path) -> None:
    whole = out.with_name("whole.jsonl")
    written(whole)
    *stops, last = [written(out, tokens=tokens) for tokens in (1_200, 2_000, 2_200, 10**6)]
    assert [one.kept for one in stops] == sorted(one.kept for one in stops)
    for one in stops:
        assert one.stopped
        assert "--set budget.tokens=" in one.spending.flags_for_larger(one.stopped)
    assert not last.stopped
    assert out.read_text() == whole.read_text()
    assert paid(out) == paid(whole)


@pytest.mark.parametrize("budget", [{"tokens": 1}, {"minutes": 1e-9}])
def test_a_budget_that_ends_at_once_takes_nothing_away(out: Path, budget: dict[str, float]) -> None:
    written(out, total=2)
    text = out.read_text()
    stopped = written(out, total=3, **budget)
    assert stopped.stopped
    assert stopped.kept == 2
    assert out.read_text() == text
    assert written(out, total=3).kept == 3


def test_a_call_that_is_open_when_the_time_is_over_is_cut_off_before_the_budget_is_exceeded(out: Path) -> None:
    until = time.monotonic() + 3.5
    stopped = written(out, minutes=0.5, latency_s=60.0, began=until - 30)
    assert time.monotonic() < until
    assert stopped.stopped
    assert (stopped.kept, out.exists()) == (0, True)


def test_the_estimate_has_the_time_at_the_measured_speed_and_names_a_budget_that_ends_it(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned(out, minutes=0.01)
    tokens = sum(usage.input_tokens for usage in plan.estimate.usage.values())
    speed = ModelSpeed(prompt_tokens_per_s=10.0, best={"prompt_tokens_per_s": 100.0})
    for known in (None, speed):
        monkeypatch.setattr("harness.extensions.testset.output.stored_speed", lambda _, known=known: known)
        assert "speed" not in planned_lines(plan)[-1]
    whole = speed.model_copy(update={"completion_tokens_per_s": 1.0})
    monkeypatch.setattr("harness.extensions.testset.output.stored_speed", lambda _: whole)
    line = planned_lines(plan)[-1]
    assert f"; {duration(tokens / 100)} - " in line
    assert line.endswith(f" at the measured speed of the models, and the budget ends it after {duration(0.6)}")


def test_a_model_that_is_set_alone_writes_and_judges(tmp_path: Path) -> None:
    (tmp_path / "mill.md").write_text(MILL.text)
    for role in ("generator", "judge"):
        settings = (f"models.{role}.provider=fake", f"models.{role}.model=mine", "models.embedder.provider=none")
        options = WriteOptions(tmp_path, out=Path("x.jsonl"), kinds=("single_fact",), settings=settings)
        plan = plan_questions(options, QUIET).models
        assert plan.written_by == plan.judged_by == "fake/mine"


# From the command line, with a model and without.


FACTS = {
    "leave.md": "Employees have 28 days of leave in a calendar year. Unused days expire on the last day of March.",
    "garage.md": "The garage below the main building closes at 22:00. Visitors park on the second level of it.",
}


@pytest.fixture
def here(tmp_path: Path) -> CommandLineHere:
    """In a folder with a handbook of two files."""
    (tmp_path / "hand book").mkdir()
    for name, text in FACTS.items():
        (tmp_path / "hand book" / name).write_text(text)
    return CommandLineHere(tmp_path, {"RAG_HARNESS_CACHE": str(tmp_path / "cache")})


def template(here: CommandLineHere, name: str, *words: str) -> list[dict[str, str]]:
    assert here.call("questions", "hand book", "--template", name, *words).returncode == 0
    return sheet_rows(here.folder / name)


def test_a_filled_in_template_is_a_question_file_with_evidence(here: CommandLineHere) -> None:
    rows = template(here, "asked.csv", "--n", "3")
    assert len(rows) == 3
    assert {row["document"] for row in rows} == set(FACTS)
    assert all(row["quote"] in FACTS[row["document"]] and not row["question"] + row["answers"] for row in rows)
    plan = ("plan", "--docs", "hand book", "--questions", "asked.csv")
    here.refused(*plan)
    rows[0] |= {"question": "How many days of leave are there?", "answers": "28"}
    write_rows(here.folder / "asked.csv", rows)
    planned = here.call(*plan)
    assert planned.returncode == 0
    assert "2 of 3 rows" in planned.stdout
    assert "0/1" in planned.stdout


def test_a_template_quotes_each_kind_of_file_and_no_header_address_or_sentence_twice(
    here: CommandLineHere,
) -> None:
    mail = "From: Ada Moen, the harbour office\nTo: Bo Lind, the yard of Tarnby\nSubject: The crane\n\n"
    address = "Tarnby yard and slipway\nQuay 4, second shed\n9 Harbour Road\nTarnby\nNorway\n\n"
    crane = "The crane of the Tarnby yard was checked on 3 May and may lift 40 tonnes."
    budget = "Department,Budget 2025 EUR,Owner\nWorkshop and yard,1250000,Yuki Tanabe\n"
    total = "Total of all the departments in one row,,\n"
    files = {"crane.eml": mail + address + crane, "leave copy.md": FACTS["leave.md"], "budget.csv": budget + total}
    for name, text in files.items():
        (here.folder / "hand book" / name).write_text(text)
    quotes = [row["quote"] for row in template(here, "asked.csv")]
    assert len(set(quotes)) == len(quotes) == 6
    assert crane in quotes
    assert not any("\n" in quote or quote.startswith(("From", "To", "Subject", "Tarnby")) for quote in quotes)
    few = template(here, "few.csv", "--n", "3")
    assert {Path(row["document"]).suffix for row in few} == {".md", ".csv", ".eml"}


@pytest.mark.parametrize("name", ["asked.jsonl", "hand book/asked.csv", "there.csv"])
def test_a_template_replaces_nothing_and_is_no_document(name: str, here: CommandLineHere) -> None:
    (here.folder / "there.csv").write_text("mine")
    here.refused("questions", "hand book", "--template", name)
    assert (here.folder / "there.csv").read_text() == "mine"
    assert not (here.folder / "hand book" / "asked.csv").exists()


def test_if_nothing_survives_the_last_line_names_a_model_and_the_template(here: CommandLineHere) -> None:
    fake = f"models.generator.options={json.dumps({'reply': draft('When was this founded?', '1911')})}"
    models = ("--set", "models.generator.provider=fake", "--set", fake, "--set", "models.embedder.provider=none")
    words = ("questions", "hand book", "--kind", "single_fact", "--n", "2", *models)
    stopped = here.call(*words, "--set", "budget.tokens=1")
    assert stopped.returncode == 4, stopped.stderr
    last = stopped.stderr.strip().splitlines()[-1]
    assert "--set budget.tokens=" in last
    assert "models.generator.model=" not in last, "too few candidates to judge the model"
    done = here.call(*words)
    assert done.returncode == 3, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("no candidate survived ('self_contained' passed 0 of 4). ")
    assert "models.generator.model=" in last
    assert last.endswith("rag-harness questions 'hand book' --template questions.csv")
    assert "rag-harness review questions.jsonl" in done.stdout
