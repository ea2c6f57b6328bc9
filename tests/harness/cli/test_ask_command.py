"""`rag-harness ask` as a user calls it."""

import hashlib
import io
import json
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_line import CommandLineHere, over_http
from damaging import WorkersHere

from harness.extensions.ask.session import AskedRun
from harness.models.fake_model import FakeScript
from harness.models.fake_server import FakeServer

QUESTION = "Who runs Tidewright Power?"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> CommandLineHere:
    folder = tmp_path_factory.mktemp("asked")
    return CommandLineHere(folder, {"RAG_HARNESS_CACHE": str(folder / "cache")})


@pytest.fixture(scope="module")
def run(cli: CommandLineHere) -> str:
    with WorkersHere():
        return str(cli.run("--set", "dataset.sample.per_type=1")["run_id"])


def digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_an_answer_stands_with_its_sources_and_what_it_took_and_the_run_stays_as_it_was(
    cli: CommandLineHere, run: str
) -> None:
    before = digests(cli.results / run)
    done = cli.call("ask", run, QUESTION)
    assert done.returncode == 0, done.stderr
    assert all(word in done.stdout for word in ("answer", "sources", "https://", "generator", "tokens, $"))
    assert "2031-" in done.stdout
    assert "--judge" in done.stderr
    assert digests(cli.results / run) == before


def test_the_same_question_is_paid_once_and_says_so(cli: CommandLineHere, run: str) -> None:
    first, again = (json.loads(cli.call("ask", run, "Who paid?", "--json").stdout) for _ in range(2))
    assert first["cost"]["replayed_calls"] == 0
    assert again["cost"]["replayed_calls"] == sum(used["calls"] for used in first["cost"]["usage"].values())
    assert again["cost"]["usage"] == first["cost"]["usage"]
    assert again["answer"] == first["answer"]
    assert {context for one in again["contexts"] for context in one["doc_ids"]} == set(again["sources"])


def test_without_a_question_each_line_is_one_and_what_is_none_ends_nothing(
    cli: CommandLineHere, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{QUESTION}\n\n{'x' * 500_000}\n¿Quién dirige la central?\n"))
    done = cli.call("ask", run, "--json")
    assert done.returncode == 3, "a script learns that a line was refused"
    assert [json.loads(line)["question"] for line in done.stdout.splitlines()] == [
        QUESTION,
        "¿Quién dirige la central?",
    ]
    assert "the question has 500,000 characters" in done.stderr


def test_a_judge_says_how_far_an_answer_can_be_trusted_and_what_that_took(cli: CommandLineHere, run: str) -> None:
    done = cli.call("ask", run, QUESTION, "--judge", "fake", "--json")
    (judged,) = json.loads(done.stdout)["judged"]
    assert judged["status"] == "scored"
    assert judged["explanation"].startswith(("trustworthy", "grounded but partial", "misaligned"))
    assert judged["usage"]["judge"]["calls"] == 1
    assert f"{judged['value']:.3g}" in cli.call("ask", run, QUESTION, "--judge", "fake").stdout


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
        assert "link" in cli.refused("ask", run, QUESTION, "--quiet")
    finally:
        link.unlink()
    assert list(elsewhere.iterdir()) == [] if elsewhere.is_dir() else elsewhere.read_bytes() == b""


def test_an_index_is_asked_through_the_run_that_built_it(cli: CommandLineHere, run: str) -> None:
    (index,) = [path.parent.name for path in cli.results.glob("indexes/*/index.json")]
    assert json.loads(cli.call("ask", index, QUESTION, "--json").stdout)["run_id"] == run


def test_what_cannot_be_asked_is_one_line(cli: CommandLineHere, run: str) -> None:
    assert "no run 'nosuch'" in cli.refused("ask", "nosuch", QUESTION)
    assert "the question is empty" in cli.refused("ask", run, " \n")
    assert "more than 20,000" in cli.refused("ask", run, "x" * 500_000)
    assert "is not a setting of the judge" in cli.refused("ask", run, QUESTION, "--set", "answer.top_k=1")
    assert "unknown judge provider" in cli.refused("ask", run, QUESTION, "--judge", "nosuch", "-q")


def test_an_interrupt_ends_it_without_a_traceback(
    cli: CommandLineHere, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_self: AskedRun, _question: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(AskedRun, "ask", interrupted)
    done = cli.call("ask", run, QUESTION, "-q")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


@pytest.fixture
def moved_index(cli: CommandLineHere, run: str) -> Iterator[None]:
    """The run without its index for a while."""
    folder, away = cli.results / "indexes", cli.results / f"away-{run}"
    folder.rename(away)
    yield
    away.rename(folder)


@pytest.mark.usefixtures("moved_index")
def test_an_index_that_is_gone_is_one_line_that_says_how_to_have_it_again(cli: CommandLineHere, run: str) -> None:
    assert "is not under" in (line := cli.refused("ask", run, QUESTION))
    assert "rag-harness run" in line


@contextmanager
def served() -> Iterator[FakeServer]:
    with FakeServer(FakeScript()) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_servers_and_keys_of_a_run_are_used_only_by_who_trusts_it(
    cli: CommandLineHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THEIR_SECRET", "not-a-real-key")
    with served() as server:
        words = over_http("generator", server, api_key_env="THEIR_SECRET", max_retries=0)
        made = cli.run("--set", "dataset.sample.per_type=1", *words)["run_id"]
        line = cli.refused("ask", made, QUESTION)
        assert "THEIR_SECRET" in line
        assert "--trust" in line
        assert json.loads(cli.call("ask", made, QUESTION, "--trust", "--json").stdout)["status"] == "ok"
        monkeypatch.delenv("THEIR_SECRET")
        assert "THEIR_SECRET is not set" in cli.refused("ask", made, QUESTION, "--trust")
    monkeypatch.setenv("THEIR_SECRET", "not-a-real-key")
    assert "not-a-real-key" not in cli.refused("ask", made, "Another one?", "--trust", "-q")


def test_a_router_is_asked_over_the_indexes_of_the_systems_that_it_hands_questions_to(
    cli: CommandLineHere, run: str
) -> None:
    others = '{"comparison": {"system": "naive", "index": {"chunk_size": 700}, "answer": {"top_k": 2}}}'
    words = ("--set", "dataset.sample.per_type=1", "--set", f"per_system.router.answer.routes={others}")
    routed = cli.run("--system", "router", *words)["run_id"]
    asked = json.loads(cli.call("ask", routed, QUESTION, "--json").stdout)
    assert asked["status"] == "ok"
    assert "naive" in asked["trace"][0]["content"]
    small, _ = json.loads((cli.results / routed / "manifest.json").read_text())["identity"]["system"]["routed"]
    assert small["index"]["chunk_size"] == 700
    for index in (cli.results / "indexes").iterdir():
        if index.is_dir() and (index / "index.json").exists() and routed in (index / "index.json").read_text():
            index.rename(index.with_name("moved"))
    assert "is not under" in cli.refused("ask", routed, QUESTION)
