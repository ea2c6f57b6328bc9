"""`rag-harness ask` as a user calls it."""

import io
import json
import shutil
import sys
from pathlib import Path

import pytest
from command_line import CommandLineHere, over_http
from damaging import WorkersHere
from serving import serving

from harness.cli.sentence_highlighting import highlighted, in_its_document, place_in, places_of
from harness.core.hashing import file_digest
from harness.core.records import Context, Cost, Document, Failure, Prediction, RunRecord, Span, Usage
from harness.display.text_format import SafeConsole
from harness.extensions.ask.output import print_asked
from harness.extensions.ask.session import Asked, AskedRun
from harness.models.fake_model import FakeScript
from harness.models.fake_server import FakeServer

QUESTION = "Who runs Tidewright Power?"


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> CommandLineHere:
    folder = tmp_path_factory.mktemp("asked")
    return CommandLineHere(folder, {"RAG_HARNESS_CACHE": str(folder / "cache")})


@pytest.fixture(scope="module")
def run(cli: CommandLineHere) -> str:
    with WorkersHere():
        return str(cli.run("--set", "dataset.sample.per_type=1")["run_id"])


def digests(folder: Path) -> dict[Path, str]:
    return {path: file_digest(path) for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.slow
def test_an_answer_has_its_sources_and_costs_is_paid_once_and_leaves_the_run_unchanged(
    cli: CommandLineHere, run: str
) -> None:
    before = digests(cli.results / run)
    done = cli.call("ask", QUESTION, "--run", run)
    assert done.returncode == 0, done.stderr
    for part in ("answer", "sources", "https://", "generator", "tokens, $", "2031-"):
        assert part in done.stdout
    assert "--judge" in done.stderr
    (index,) = [path.parent.name for path in cli.results.glob("indexes/*/index.json")]
    first, again = (
        json.loads(cli.call("ask", "Who paid?", "--run", name, "--json").stdout) for name in (run, index)
    )
    assert again["run_id"] == run
    assert first["cost"]["replayed_calls"] == 0
    assert again["cost"]["replayed_calls"] == sum(used["calls"] for used in first["cost"]["usage"].values())
    assert again["cost"]["usage"] == first["cost"]["usage"]
    assert again["answer"] == first["answer"]
    assert {context for one in again["contexts"] for context in one["doc_ids"]} == set(again["sources"])
    assert digests(cli.results / run) == before


@pytest.mark.slow
def test_without_a_question_each_line_is_one_and_an_invalid_line_ends_nothing(
    cli: CommandLineHere, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{QUESTION}\n\n{'x' * 500_000}\n¿Quién dirige la central?\n"))
    done = cli.call("ask", "--run", run, "--json")
    assert done.returncode == 3, "a script learns that a line was refused"
    assert [json.loads(line)["question"] for line in done.stdout.splitlines()] == [
        QUESTION,
        "¿Quién dirige la central?",
    ]
    assert "the question has 500,000 characters" in done.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("workers_here")
def test_two_runs_answer_side_by_side_and_one_judge_rates_both(cli: CommandLineHere, run: str) -> None:
    other = str(cli.run("--set", "dataset.sample.per_type=1", "--set", "answer.top_k=1")["run_id"])
    words = ("ask", QUESTION, "--run", run, "--run", other, "--judge", "fake")
    both = [json.loads(line) for line in cli.call(*words, "--json").stdout.splitlines()]
    assert [one["run_id"] for one in both] == [run, other]
    shown = cli.call(*words)
    assert shown.returncode == 0, shown.stderr
    assert all(word in shown.stdout for word in ("top_k=1", "passage ", "tokens,"))
    for (judged,) in (one["judged"] for one in both):
        assert judged["status"] == "scored"
        assert judged["explanation"].startswith(("trustworthy", "grounded but partial", "misaligned"))
        assert judged["usage"]["judge"]["calls"] == 1
        assert f"{judged['value']:.3g}" in shown.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["asked", "asked/calls.sqlite", "asked/asked.log"])
def test_nothing_is_written_through_a_link_in_results_of_somebody_else(
    cli: CommandLineHere, run: str, tmp_path: Path, name: str
) -> None:
    asked, link, elsewhere = cli.results / "asked", cli.results / name, tmp_path / "elsewhere"
    shutil.rmtree(asked, ignore_errors=True)
    link.parent.mkdir(exist_ok=True)
    elsewhere.mkdir() if link == asked else elsewhere.touch()
    link.symlink_to(elsewhere)
    try:
        assert "link" in cli.refused("ask", QUESTION, "--run", run, "--quiet")
    finally:
        link.unlink()
    assert list(elsewhere.iterdir()) == [] if elsewhere.is_dir() else elsewhere.read_bytes() == b""


@pytest.mark.slow
def test_each_question_or_run_that_cannot_be_asked_is_one_line(cli: CommandLineHere, run: str) -> None:
    asks = ("ask", QUESTION, "--run")
    assert "no run 'nosuch'" in cli.refused(*asks, "nosuch")
    assert "the question is empty" in cli.refused("ask", " \n", "--run", run)
    assert "is not a setting of the judge" in cli.refused(*asks, run, "--set", "answer.top_k=1")
    assert "the same run is named twice" in cli.refused(*asks, run, "--run", run)
    assert "no run is named" in cli.refused("ask", QUESTION)
    assert "one question is expected" in cli.refused("ask", "Who", "runs it?", "--run", run)
    assert "unknown judge provider" in cli.refused(*asks, run, "--judge", "nosuch", "-q")


@pytest.mark.slow
def test_an_interrupt_ends_it_without_a_traceback(
    cli: CommandLineHere, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_self: AskedRun, _question: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(AskedRun, "ask", interrupted)
    done = cli.call("ask", QUESTION, "--run", run, "-q")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


@pytest.mark.slow
def test_servers_and_keys_that_a_run_names_are_used_only_with_trust(
    cli: CommandLineHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THEIR_SECRET", "not-a-real-key")
    with serving(FakeServer(FakeScript())) as server:
        words = over_http("generator", server, api_key_env="THEIR_SECRET", max_retries=0)
        with WorkersHere():
            made = cli.run("--set", "dataset.sample.per_type=1", *words)["run_id"]
        line = cli.refused("ask", QUESTION, "--run", made)
        assert "THEIR_SECRET" in line
        assert "--trust" in line
        assert json.loads(cli.call("ask", QUESTION, "--run", made, "--trust", "--json").stdout)["status"] == "ok"
        monkeypatch.delenv("THEIR_SECRET")
        assert "THEIR_SECRET is not set" in cli.refused("ask", QUESTION, "--run", made, "--trust")
    monkeypatch.setenv("THEIR_SECRET", "not-a-real-key")
    assert "not-a-real-key" not in cli.refused("ask", "Another one?", "--run", made, "--trust", "-q")


@pytest.mark.slow
def test_a_router_is_asked_over_the_indexes_of_its_routes(cli: CommandLineHere, run: str) -> None:
    others = '{"comparison": {"system": "naive", "index": {"chunk_size": 700}, "answer": {"top_k": 2}}}'
    words = ("--set", "dataset.sample.per_type=1", "--set", f"per_system.router.answer.routes={others}")
    with WorkersHere():
        routed = cli.run("--system", "router", *words)["run_id"]
    asked = json.loads(cli.call("ask", QUESTION, "--run", routed, "--json").stdout)
    assert asked["status"] == "ok"
    assert "naive" in asked["trace"][0]["content"]
    small, _ = json.loads((cli.results / routed / "manifest.json").read_text())["identity"]["system"]["routed"]
    assert small["index"]["chunk_size"] == 700
    for index in (cli.results / "indexes").iterdir():
        if index.is_dir() and (index / "index.json").exists() and routed in (index / "index.json").read_text():
            index.rename(index.with_name("moved"))
    assert "is not under" in cli.refused("ask", QUESTION, "--run", routed)


# An answer on a terminal: evidence is marked, and control characters are removed.


SENTENCE = "The bridge was closed in 2031."
PASSAGE = Context(text="It was dry. The bridge was\nclosed in 2031. Nobody came.", doc_ids=("d",), score=0.5)
PROOF = Context(
    text=SENTENCE, doc_ids=("d",), kind="sentence", score=0.25, span=Span(doc_id="d", start=12, end=42)
)


def asked(prediction: Prediction | None, failure: Failure | None = None) -> Asked:
    used = {"generator": Usage(calls=1, input_tokens=1200, output_tokens=3)}
    record = RunRecord(
        query_id="asked-1",
        repeat=0,
        status="ok" if prediction else "error",
        prediction=prediction,
        failure=failure,
        cost=Cost(wall_s=1.5, usage=used),
        attempt=1,
        started_at="2026-11-24T00:00:00+00:00",
    )
    document = Document(doc_id="d", text="", title="A title", metadata={"published_at": "November 12, 2023"})
    return Asked("a-run", "When?", record, None, (), {"d": document}, ())


def printed(one: Asked, *, texts: bool = False) -> str:
    written = io.StringIO()
    print_asked(SafeConsole(file=written, width=100), one, texts=texts)
    return written.getvalue()


def test_evidence_is_marked_in_the_contexts_and_sources_are_named_with_their_dates() -> None:
    elsewhere = Context(text=SENTENCE, doc_ids=("other",))
    places = places_of([PROOF], PASSAGE)
    assert {nth: PASSAGE.text[start:end] for nth, (start, end) in places.items()} == {
        1: "The bridge was\nclosed in 2031."
    }
    assert places_of([PROOF], elsewhere) == {}
    assert [(span.start, span.end) for span in highlighted(PASSAGE.text, places).spans] == [places[1]]
    shown = printed(asked(Prediction(answer="2031", contexts=(PASSAGE, elsewhere), evidence=(PROOF,))))
    for part in (
        *("context 1 (passage: d, holds evidence 1)", "evidence 1 (score 0.250)", "d, characters 12-42"),
        *("d (context 1, evidence 1)", "A title | November 12, 2023", "1.50 s, 1,203 tokens, no price known"),
    ):
        assert part in shown
    assert "context 2 (" not in shown


def test_a_sentence_of_evidence_is_shown_within_its_document_letter_by_letter() -> None:
    text = "x" * 500 + " " + SENTENCE + " Nobody came."
    sentence = PROOF.model_copy(update={"span": Span(doc_id="d", start=501, end=501 + len(SENTENCE))})
    shown = in_its_document(sentence, {"d": Document(doc_id="d", text=text)})
    (mark,) = shown.spans
    assert shown.plain[mark.start : mark.end] == SENTENCE
    assert shown.plain.startswith("…xxx")
    assert shown.plain.endswith(" Nobody came.")
    assert in_its_document(sentence, {"d": Document(doc_id="d", text="another text")}).plain == SENTENCE
    assert place_in("Nothing here.", SENTENCE) is place_in("Nothing here.", "  ") is None


def test_without_evidence_the_sentences_with_words_of_the_answer_are_marked() -> None:
    contexts = (PASSAGE, Context(text="Other.", doc_ids=("e",)))
    one = asked(Prediction(answer="It was closed in 2031.", contexts=contexts))
    (place,), nothing = one.support
    assert PASSAGE.text[slice(*place)] == "closed in 2031."
    assert nothing == []
    assert "context 2 (" not in printed(one)
    assert asked(Prediction(answer="There is no information about it.", contexts=(PASSAGE,))).support == [[]]


def test_texts_of_models_and_documents_do_not_control_the_terminal() -> None:
    hostile = "\x1b[2J\x1b]0;owned\x07[bold]x[/bold]"
    context = Context(text=hostile, doc_ids=(hostile,), score=1.0)
    prediction = Prediction(answer=hostile, contexts=(context,), evidence=(context,))
    for one in (asked(prediction), asked(None, Failure(kind=hostile, message=hostile))):
        shown = printed(one, texts=True)
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert "[bold]" in shown
