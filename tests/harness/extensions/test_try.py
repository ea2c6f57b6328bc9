"""Documents that are dropped, the session of two systems, and the votes that `compare` reads."""

from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import CommandLineHere
from paired_runs import ScoredRun, write_run
from waiting import wait_for

from harness.core.errors import ConfigError, HarnessError, StoreError
from harness.core.records import Context, Cost, Prediction, RunRecord
from harness.extensions.ask.comparison_page import pair_value
from harness.extensions.ask.comparison_session import AskedPair, ComparisonSession, PageReporter
from harness.extensions.ask.session import Asked, Opening
from harness.extensions.ask.uploaded_documents import LARGEST_FILE, MOST_FILES, UploadedDocuments, index_documents
from harness.report.comparison.output import votes_between
from harness.store import RunDir
from harness.store.annotations import Preference, append_preference, read_preferences


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("report.txt", "report.txt"),
        ("../../etc/passwd.txt", "passwd.txt"),
        ("C:\\windows\\..\\evil.MD", "evil.MD"),
        ("..\\..txt", "document.txt"),
        ("<img src=x onerror=alert(1)>\x00\u202e.html", "_img src_x onerror_alert(1)___.html"),
        ("x" * 500 + ".txt", "x" * 100 + ".txt"),
        ("\U00020000" * 100 + ".html", "\U00020000" * 50 + ".html"),
    ],
)
def test_a_document_is_written_into_its_folder_whatever_its_name(tmp_path: Path, name: str, safe: str) -> None:
    uploaded = UploadedDocuments(tmp_path / "in" / "documents")
    uploaded.add(name, b"text")
    assert uploaded.names == [safe]
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [uploaded.folder / safe]
    uploaded.clear()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_files_that_are_too_large_too_many_or_no_documents_are_refused(tmp_path: Path) -> None:
    uploaded = UploadedDocuments(tmp_path)
    for name, content in (("a.exe", b""), ("a", b""), ("a.txt", bytes(LARGEST_FILE + 1))):
        with pytest.raises(ConfigError):
            uploaded.add(name, content)
    for number in range(MOST_FILES):
        uploaded.add(f"{number}.txt", b"x")
    uploaded.add("0.txt", b"another version")
    for name, trouble in (("other/0.txt", r"called '0\.txt'"), ("more.txt", f"{MOST_FILES} files")):
        with pytest.raises(ConfigError, match=trouble):
            uploaded.add(name, b"another document")
    assert len(list(tmp_path.iterdir())) == MOST_FILES


@dataclass
class ScriptedRun:
    """Answers with its name, or as it is told, or fails."""

    run: RunDir
    error: str = ""
    answer: str | None = "its name"
    is_judged = False

    @property
    def live(self) -> SimpleNamespace:
        return SimpleNamespace(run=self.run)

    def ask(self, question: str) -> Asked:
        if self.error:
            raise HarnessError(self.error)
        answer = f"{self.run.run_id}." if self.answer == "its name" else self.answer
        prediction = Prediction(answer=answer, contexts=(Context(text="A <b>passage</b>.", doc_ids=("d",)),))
        record = RunRecord(
            query_id="q", repeat=0, status="ok", prediction=prediction, cost=Cost(wall_s=1.0), attempt=1,
            started_at="",
        )  # fmt: skip
        return Asked(self.run.run_id, question, record, None, (), {}, ())


@pytest.fixture
def scripted(tmp_path: Path) -> list[ScriptedRun]:
    scores = {"accuracy": [1.0, 0.0] * 5}
    return [ScriptedRun(write_run(tmp_path, ScoredRun(system=name, scores=scores))) for name in ("one", "two")]


@pytest.fixture
def session(scripted: list[ScriptedRun], tmp_path: Path) -> Iterator[ComparisonSession]:
    opening: Any = lambda _reporter: nullcontext(scripted)  # noqa: E731 - scripted runs instead of open ones
    with closing(ComparisonSession(lambda: opening, tmp_path, PageReporter(quiet=True))) as session:
        session.prepare()
        wait_for(lambda: session.phase == "ready")
        yield session


def asked(session: ComparisonSession, question: str) -> tuple[str, AskedPair]:
    pair_id = session.ask(question)
    pair = session.find(pair_id)
    wait_for(lambda: pair.error or len(pair.answers) == 2)
    return pair_id, pair


def test_systems_are_named_after_the_vote_which_is_kept_and_compared(
    session: ComparisonSession, scripted: list[ScriptedRun], tmp_path: Path
) -> None:
    runs = [one.run for one in scripted]
    orders = set()
    for number in range(12):
        pair_id, pair = asked(session, f"Question {number}?")
        orders.add(pair.order)
        assert pair_value(pair, session.names)["names"] is None
        first_is_shown_first = pair.order == (0, 1)
        choice = "tie" if number == 0 else "a" if first_is_shown_first == (number < 9) else "b"
        session.vote(pair_id, choice)  # type: ignore[arg-type]
        assert pair_value(pair, session.names)["names"] == [session.names[place] for place in pair.order]
        with pytest.raises(ConfigError, match="has a vote"):
            session.vote(pair_id, "tie")
    assert len(orders) == 2, "the systems change places"
    again, pair = asked(session, "question  1 ?!")
    session.vote(again, "b" if pair.order == (0, 1) else "a")
    (count,) = votes_between(runs, read_preferences(tmp_path))
    assert (count.names, count.preferred, count.n_tie) == (("one", "two"), (7, 4), 1), "asked again counts once"
    done = CommandLineHere(tmp_path).call("compare", *(run.run_id for run in runs), "--results", str(tmp_path))
    assert done.stdout.splitlines()[-1] == count.line() == session.votes
    assert count.line().startswith("votes: one preferred 7 of 12, two 4, tie 1")
    assert count.line().endswith("one 64 % [31 %, 89 %]")


def test_a_failure_is_reported_for_its_question_and_the_session_goes_on(
    session: ComparisonSession, scripted: list[ScriptedRun]
) -> None:
    for refused in (lambda: session.ask(" "), lambda: session.find("7"), lambda: session.vote("7", "a")):
        with pytest.raises(ConfigError):
            refused()
    for error in ("the server is gone", ""):
        scripted[1].error, scripted[1].answer = error, None
        pair_id, pair = asked(session, "Who?")
        assert pair_value(pair, session.names)["error"] == error
        with pytest.raises(ConfigError, match="no two answers"):
            session.vote(pair_id, "a")


def test_closing_stops_an_index_that_is_being_built(tmp_path: Path) -> None:
    docs, results = tmp_path / "docs", tmp_path / "results"
    docs.mkdir()
    (docs / "mill.txt").write_text("Ada Kline runs the tide mill.")
    slow = ["models={generator: {provider: fake, options: {latency_s: 600}}, embedder: {provider: fake}}"]
    slow += ["systems=[kg,naive]", "per_system.kg.index={}"]

    reporter, opened = PageReporter(quiet=True), list[ComparisonSession]()

    def choose() -> Opening:
        index_documents(docs, tmp_path, results, slow, reporter, opened[0].building)
        raise AssertionError

    session = ComparisonSession(choose, results, reporter)
    opened.append(session)
    session.prepare()
    wait_for(lambda: session.phase == "failed" or [*results.glob("*/worker.log")])
    session.close()
    assert (session.phase, "SIGKILL" in session.message) == ("failed", True), session.message


def test_a_damaged_vote_is_reported_and_a_torn_one_is_left_out(tmp_path: Path) -> None:
    sides = {"run_a": "demo--a--1", "run_b": "demo--b--1", "answer_a": "x", "answer_b": "y", "at": ""}
    for number in range(2):
        append_preference(tmp_path, Preference(question=f"Q{number}", choice="a", **sides))
    path = tmp_path / "votes.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    assert [vote.question for vote in read_preferences(tmp_path)] == ["Q0"]
    path.write_text(path.read_text().replace('"choice":"a"', '"choice":"b"'))
    with pytest.raises(StoreError, match=r"votes\.jsonl line 1 is damaged"):
        read_preferences(tmp_path)
