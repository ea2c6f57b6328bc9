"""From a folder to a report: questions written, killed, resumed, looked through, asked."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine, CommandLineHere, over_http
from killing import kill_somewhere
from question_writers import FERRY, MILL, YARD, draft

from harness.models.fake_model import FakeScript

pytestmark = pytest.mark.slow

WRITES = r'"question"(.|\n)*Document A \('
ANSWERS = r"<passages>(.|\n)*<question>\n"
REPLIES = {
    f"{WRITES}Lowmere": draft("Who chairs the harbour board of Lowmere?", "Hanne Olvik", "A3"),
    f"{WRITES}Tarnby": draft("When was the Tarnby yard founded?", "1911", "A2"),
    f"{WRITES}Corrie": draft("What does the Corrie Mill grind?", "oats", "A1"),
    r"no documents": "Insufficient information",
    r'"same"': '{"same": false}',
    f"{ANSWERS}Who chairs": "Hanne Olvik",
    f"{ANSWERS}When was": "1911",
    f"{ANSWERS}What does": "Oats.",
}


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    for document in (FERRY, YARD, MILL):
        (folder / document.doc_id).write_text(f"# {document.title}\n\n{document.text}\n", encoding="utf-8")
    return folder


def words(papers: Path, out: str, server: Any, *more: str) -> list[str]:
    kinds = ("--kind", "single_fact", "--n", "3", "--set", "models.embedder.provider=none")
    generator = over_http("generator", server)
    return ["questions", str(papers), "--out", out, *kinds, *generator, *more]


def test_kills_change_no_question_and_nothing_is_paid_twice(cli: CommandLine, papers: Path, serve: Any) -> None:
    server = serve(FakeScript(replies=REPLIES, latency_s=0.3))
    draw, one_by_one = random.Random(20261123), ("--set", "models.generator.max_concurrency=1")
    command = words(papers, "asked.jsonl", server, *one_by_one)
    for after_s in (2.0, 3.0):
        kill_somewhere(cli, command, after_s, draw)
    done = cli.call(*command)
    assert done.returncode == 0, done.stderr
    asked = server.model.served["calls"]
    whole = serve(FakeScript(replies=REPLIES))
    CommandLineHere(cli.folder, cli.env).call(*words(papers, "whole.jsonl", whole))
    assert (cli.folder / "asked.jsonl").read_text() == (cli.folder / "whole.jsonl").read_text()
    # A call that a kill cut off may have been answered to nobody: one at each kill.
    assert whole.model.served["calls"] <= asked <= whole.model.served["calls"] + 2


def test_a_plan_says_how_many_questions_were_reviewed(here: CommandLineHere, papers: Path, serve: Any) -> None:
    written = here.call(*words(papers, "asked.jsonl", serve(FakeScript(replies=REPLIES)), "--json"))
    assert written.returncode == 0, written.stderr
    said = json.loads(written.stdout)
    assert (said["kept"], said["wanted"]) == (3, {"single_fact": 3})
    first = said["checks"][0]
    assert (first["name"], first["undecided"]) == ("written", 0)
    assert first["reached"] >= first["passed"] >= 3
    sheet = here.folder / "q.csv"
    assert here.call("review", "asked.jsonl", "--to-csv", "q.csv").returncode == 0
    first, second, *rest = sheet.read_text(encoding="utf-8-sig").splitlines()
    sheet.write_text("\n".join((first, second.replace(",,", ",accept,", 1), *rest)), encoding="utf-8")
    taken = here.call("review", "asked.jsonl", "--from-csv", "q.csv", "--by", "ada")
    assert "1 accepted, 0 of them edited, 0 rejected, 2 left" in taken.stdout, taken.stderr
    asked = ("--docs", "papers", "--questions", "asked.jsonl", "--set", "models.generator.provider=none")
    plan = here.call("plan", *asked, "--json")
    assert plan.returncode == 0, plan.stderr
    said = "3 of 3 questions written by a model ('openai-compatible/fake'); 2 of these without human review"
    assert said in plan.stdout


def test_what_cannot_be_is_one_line(here: CommandLineHere, papers: Path) -> None:
    for more, line in (
        (("--out", "papers/asked.jsonl"), "would be read as a document"),
        (("--kind", "bridge=2", "--set", "models.generator.provider=none"), "a model has to write"),
        (("--dataset", "demo"), "exactly once"),
        (("--out", "asked.csv"), "written as JSON Lines"),
        (("--kind", "bridges"), "did you mean 'bridge'"),
    ):
        assert line in here.refused("questions", papers.name, *more)
