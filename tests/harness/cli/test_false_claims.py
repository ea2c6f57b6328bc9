"""Tricks and accidents that made a false winner, through the command line: what verdict.json says of them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine, CommandLineHere

N = 200
Row = dict[str, Any]


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(N):
        (folder / f"d{number:03d}.md").write_text(
            f"# Topic {number}\n\nThe code of topic {number} is zz{number}.\n"
        )
    return CommandLineHere(tmp_path, {"RAG_HARNESS_CACHE": str(tmp_path / "cache"), "COLUMNS": "100"})


def is_right(system: str, number: int) -> bool:
    """Both are right on 121; a on 7 more, and b on 1 more."""
    return number < 121 or (number < 128 if system == "a" else number == 128)


def written(folder: Path, name: str, rows: Sequence[Row]) -> str:
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return name


def questions(folder: Path, *, copies: int = 1, n: int = N) -> str:
    return written(
        folder,
        "q.jsonl",
        [
            {
                "id": f"q{number:03d}-{copy}",
                "question": f"What is the code of topic {number}" + "?" * (1 + copy),
                "answers": [f"zz{number}"],
                "evidence": [
                    {"document": f"d{number:03d}.md", "quote": f"The code of topic {number} is zz{number}."}
                ],
            }
            for number in range(n)
            for copy in range(copies)
        ],
    )


def verdict_of(
    cli: CommandLine, answers: Mapping[str, Sequence[Row]], *evaluators: str, measure: str | None = None
) -> dict[str, Any]:
    """What a report of these answers says."""
    runs = []
    for name, rows in answers.items():
        file = written(cli.folder, f"{name}.jsonl", rows)
        done = cli.call(
            *("import", file, "--docs", "docs", "--questions", "q.jsonl", "-n", name),
            *("--model", "openai/gpt-4o-mini", "-e", "answer"),
        )
        assert done.returncode == 0, done.stderr
        (run,) = [one.name for one in cli.results.glob(f"docs--{name}--*")]
        runs.append(run)
    scored = cli.call("evaluate", *runs, "-e", ",".join(evaluators))
    assert scored.returncode == 0, scored.stderr
    chosen = ["-m", measure] if measure else []
    told = cli.call("report", *runs, *chosen, "--json")
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    assert found == json.loads(next(cli.results.glob("reports/*/verdict.json")).read_text())
    assert len(found) == 1
    only: dict[str, Any] = found[0]
    return only


def answer(system: str, number: int, *, copy: int = 0, **more: Any) -> Row:
    said = f"zz{number}" if is_right(system, number) else "something else"
    return {"query_id": f"q{number:03d}-{copy}", "answer": said, "input_tokens": 300, "output_tokens": 5, **more}


def missing(verdict: dict[str, Any]) -> dict[str, int]:
    return {one["system"]: one["n_missing"] for one in verdict["standings"]}


def test_leaving_out_document_ids_where_they_are_wrong(cli: CommandLine) -> None:
    questions(cli.folder)

    def found(system: str, number: int) -> Row:
        right = is_right(system, number)
        ids = [f"d{number:03d}.md" if right else "d000.md"] if right or system == "a" else []
        return answer(system, number, contexts=[{"text": "A passage.", "doc_ids": ids}])

    answers = {name: [found(name, number) for number in range(N)] for name in "ab"}
    verdict = verdict_of(cli, answers, "answer", "retrieval", measure="Recall@10")
    assert (verdict["outcome"], verdict["recommended"]) == ("inconclusive", "a")
    assert missing(verdict) == {"a": 0, "b": 78}


def test_abstaining_where_it_would_be_wrong(cli: CommandLine) -> None:
    questions(cli.folder)
    answers = {name: [answer(name, number) for number in range(N)] for name in "ab"}
    for row in answers["b"]:
        if row["answer"] == "something else":
            row["answer"] = "Insufficient information."
    verdict = verdict_of(cli, answers, "answer", "novel_tokens", measure="novel_token_f1")
    assert (verdict["outcome"], verdict["recommended"]) == ("inconclusive", "a")
    assert missing(verdict)["b"] == 78


def test_tokens_that_are_known_for_half_of_the_queries(cli: CommandLine) -> None:
    questions(cli.folder)
    answers = {name: [answer(name, number) for number in range(N)] for name in "ab"}
    for place, row in enumerate(answers["a"]):
        row["input_tokens"] = 100
        if place % 2:
            del row["input_tokens"], row["output_tokens"]
    verdict = verdict_of(cli, answers, "answer")
    assert verdict["outcome"] in {"leading", "equally_good"}
    assert verdict["cheaper"] is None
    assert {one["system"]: one["tokens"]["at_least"] for one in verdict["standings"]} == {"a": True, "b": False}


def test_a_sample_that_the_file_chose_is_compared_with_no_other(cli: CommandLine) -> None:
    questions(cli.folder)
    rows = {
        "a": [answer("a", number) for number in range(N)],
        "b": [answer("b", number) for number in range(N) if is_right("b", number)],
    }
    for name, own in rows.items():
        file = written(cli.folder, f"{name}.jsonl", own)
        sample = ["--only-answered"] if name == "b" else []
        done = cli.call("import", file, "--docs", "docs", "--questions", "q.jsonl", "-n", name, *sample)
        assert done.returncode == 0, done.stderr
    runs = sorted(one.name for one in cli.results.glob("docs--*"))
    assert cli.call("evaluate", *runs, "-e", "answer").returncode == 0
    told = cli.call("compare", *runs)
    assert "significantly better" not in told.stdout
    found = json.loads(cli.call("report", *runs, "--json").stdout)
    assert [one["outcome"] for one in found] == ["one_system", "one_system"]
