"""`rag-harness runs`: runs are listed, named, tagged, removed, exported and received."""

import hashlib
import json
import os
import warnings
import zipfile
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from command_line import CommandLine, CommandLineHere
from paired_runs import FAILED, ScoredRun, close_again, write_every_file, write_run
from pydantic import RootModel

from harness.api.config_building import prices_of_runs
from harness.core.records import Failure
from harness.extensions.runs import archive, hand_on
from harness.report import load_chapters
from harness.store import RunDir, RunFile, checksums, find_runs, run_removal, untrusted_file_reader


@pytest.fixture
def cli(tmp_path: Path) -> CommandLineHere:
    return CommandLineHere(tmp_path, {"COLUMNS": "200", "RAG_HARNESS_CACHE": str(tmp_path / "cache")})


@pytest.fixture
def runs(cli: CommandLine) -> list[RunDir]:
    """Two finished runs over the same queries."""
    values = {"naive": [1.0, 0.0, 1.0, 1.0], "kg": [1.0, 0.0, 0.0, 0.0]}
    plans = [ScoredRun(system=name, scores={"accuracy": own}) for name, own in values.items()]
    return [write_run(cli.results, plan) for plan in plans]


SEARCHES = ("bm25", "dense", "hybrid")


def listed(cli: CommandLine, *words: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(cli.call("runs", "list", "--json", *words).stdout)
    return found


def test_the_list_has_the_score_of_each_run_that_its_report_has(cli: CommandLine, runs: list[RunDir]) -> None:
    (chapter,) = load_chapters(runs, prices_of_runs(runs))
    scores = {one.run_id: one.score.value for one in chapter.findings.verdict.standings if one.score}
    rows = listed(cli)
    assert {row["run_id"]: row["value"] for row in rows} == {run.run_id: scores[run.run_id] for run in runs}
    assert {(row["metric"], row["n_answered"], row["n_expected"], row["n_failed"]) for row in rows} == {
        ("accuracy", 4, 4, 0)
    }
    assert [row["system"] for row in listed(cli, "--system", "kg")] == ["kg"]
    assert "0.750" in cli.call("runs", "list").stdout


def test_the_list_counts_a_missing_score_as_wrong_as_the_report_does(cli: CommandLine) -> None:
    run = write_run(cli.results, ScoredRun(scores={"accuracy": [1.0, 1.0, FAILED, FAILED]}))
    (chapter,) = load_chapters([run], prices_of_runs([run]))
    (shown,) = [one.score.value for one in chapter.findings.verdict.standings if one.score]
    assert [row["value"] for row in listed(cli)] == [shown] == [0.5]


@pytest.mark.parametrize("columns", [80, 120])
def test_the_list_shows_the_parameters_that_differ_at_any_width(
    cli: CommandLine, runs: list[RunDir], columns: int
) -> None:
    answers = [{"prompts": prompts, "search": way} for way in SEARCHES for prompts in ("shared", "thesis")]
    for answer in answers:
        write_run(cli.results, ScoredRun(answer=answer, scores={"accuracy": [1.0] * 4}))
    alone = ScoredRun(dataset="multihop_rag", answer={"search": "other"}, scores={"accuracy": [1.0]})
    write_run(cli.results, alone)
    lines = cli.call("runs", "list", "--system", "naive", COLUMNS=str(columns)).stdout.splitlines()
    text = " ".join(lines)
    assert max(map(len, lines)) <= columns
    assert all(text.count(f"search={way}") == 2 for way in SEARCHES)
    assert text.count("prompts=shared") == 3
    assert "other" not in text, "it is the only one of its data set"
    labels = {row["label"] for row in listed(cli, "--system", "naive")}
    assert "naive search=bm25 prompts=shared" in labels, "the parameter with the most values is first"
    assert columns < 120 or "naive search=bm25 prompts=shared" in text


def test_a_changed_run_is_read_again_and_a_damaged_one_is_listed_as_damaged(
    cli: CommandLine, runs: list[RunDir]
) -> None:
    assert not any(row["damage"] for row in listed(cli))
    with (runs[0].path / "records.jsonl").open("a") as file:
        file.write("{}\n")
    (runs[1].path / "manifest.json").write_text("[")
    assert {row["run_id"]: bool(row["damage"]) for row in listed(cli)} == {run.run_id: True for run in runs}
    assert cli.call("runs", "list").stdout.count("damaged") >= 2


def test_names_and_tags_are_kept_beside_a_finished_run(cli: CommandLine, runs: list[RunDir]) -> None:
    naive, kg = runs
    assert cli.call("runs", "name", naive.run_id, "best").returncode == 0
    assert find_runs(cli.results, ["best"])[0].is_closed()
    assert "best" in cli.refused("runs", "name", kg.run_id, "best")
    assert kg.run_id in cli.refused("runs", "name", naive.run_id, kg.run_id)
    cli.refused("runs", "name", kg.run_id, "a/b")
    assert cli.call("runs", "tag", "best", "+keep", "+half", "-half").returncode == 0
    assert [row["name"] for row in listed(cli, "--tag", "keep")] == ["best"]
    assert "keep" in cli.refused("runs", "tag", "best", "-kept")
    with naive.exclusive():
        cli.refused("runs", "tag", "best", "+now")
    assert cli.call("runs", "name", naive.run_id, "").returncode == 0
    assert not any(row["name"] for row in listed(cli, "--tag", "keep"))


def test_a_run_that_is_written_is_not_removed(cli: CommandLine, runs: list[RunDir]) -> None:
    with runs[0].exclusive():
        cli.call("runs", "rm", runs[0].run_id, "--yes")
    with patch("sys.stdin", StringIO()):
        assert "--yes" in cli.call("runs", "rm", runs[0].run_id).stderr
    assert len(find_runs(cli.results, [])) == 2
    assert cli.call("runs", "rm", runs[0].run_id, "--yes").returncode == 0
    assert not runs[0].path.exists()


def test_a_removal_that_was_killed_is_finished_by_the_next_command_and_keeps_paid_calls(
    cli: CommandLine, runs: list[RunDir]
) -> None:
    (runs[0].path / "calls.sqlite").write_bytes(b"paid")
    with patch.object(run_removal, "_delete", side_effect=KeyboardInterrupt):
        cli.call("runs", "rm", runs[0].run_id, "--yes")
    assert [row["run_id"] for row in listed(cli)] == [runs[1].run_id]
    cli.call("runs", "gc", "--yes")
    assert [path.name for path in runs[0].path.iterdir()] == ["calls.sqlite"]
    assert cli.call("runs", "gc", "--yes", "--calls").returncode == 0
    assert not runs[0].path.exists() and runs[1].is_closed()


@pytest.mark.slow
@pytest.mark.usefixtures("workers_here")
def test_an_index_is_kept_while_a_run_uses_it_and_paid_calls_are_replayed(cli: CommandLine) -> None:
    first, second = (cli.run("--system", "naive", "--set", f"answer.top_k={k}")["run_id"] for k in (1, 2))
    (index,) = (cli.results / "indexes").glob("*/index.json")
    assert "1 other run" in cli.call("runs", "rm", first, "--yes").stdout
    assert [path.name for path in (cli.results / first).iterdir()] == ["calls.sqlite"]
    cli.run("--system", "naive", "--set", "answer.top_k=1")
    assert all(record.cost.replayed_calls for record in RunDir(cli.results / first).records().values())
    cli.call("runs", "rm", first, "--yes")
    cli.call("runs", "gc", "--yes")
    assert index.exists()
    cli.call("runs", "rm", second, "--yes")
    kinds = {one["kind"] for one in json.loads(cli.call("runs", "gc", "--json").stdout)["found"]}
    assert kinds >= {"index", "documents"} and index.exists()
    cli.call("runs", "gc", "--yes")
    assert not index.parent.exists() and not any((cli.results / "corpora").iterdir())
    assert (cli.results / "indexes" / "calls.sqlite").exists()


@pytest.fixture
def exported(cli: CommandLine, runs: list[RunDir]) -> Path:
    done = cli.call("runs", "export", *(run.run_id for run in runs), "-o", "runs.zip")
    assert done.returncode == 0, done.stderr
    return cli.folder / "runs.zip"


def test_a_received_run_gives_the_same_verdict_and_tables(
    cli: CommandLine, runs: list[RunDir], exported: Path
) -> None:
    def report(results: str) -> dict[str, bytes]:
        folder = cli.folder / f"report of {results}"
        words = ("report", *(run.run_id for run in runs), "--results", results, "--out", folder.name)
        assert cli.call(*words).returncode == 0
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.[cj]s*")}

    assert cli.call("runs", "receive", str(exported), "--results", "theirs").returncode == 0
    here = report("results")
    assert here == report("theirs") and {"verdict.json", "summary.csv"} <= {*here}
    cli.refused("runs", "receive", str(exported), "--results", "theirs")
    cli.refused("runs", "export", runs[0].run_id, "-o", "runs.zip")


def test_an_export_has_every_file_of_a_run_but_calls_logs_damaged_lines_and_locks(cli: CommandLine) -> None:
    run = write_every_file(cli.results)
    assert cli.call("runs", "export", run.run_id, "-o", "runs.zip").returncode == 0
    assert cli.call("runs", "receive", "runs.zip", "--results", "theirs").returncode == 0
    left_out = {"calls.sqlite", "worker.log", "server.log", "records.damaged.jsonl", ".lock"}
    kept = {"scores/answer.jsonl", "scores/answer.json", "annotations/ada.jsonl", *RunFile} - left_out
    received = cli.folder / "theirs" / run.run_id
    for folder in (run.path, received):
        found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
        assert found - left_out - {"annotations/.ada.lock"} == kept
    assert not left_out & {path.name for path in received.iterdir()}
    assert all((run.path / name).read_bytes() == (received / name).read_bytes() for name in kept)
    assert cli.call("runs", "rm", run.run_id, "--yes").returncode == 0
    assert not run.path.exists()


def test_a_damaged_file_of_an_extension_is_neither_copied_nor_exported(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_every_file(cli.results)
    monkeypatch.setattr(untrusted_file_reader, "LARGEST_OBJECT", 1 << 20)
    with (run.path / "load.json").open("wb") as file:
        file.truncate(1 << 40)
    assert "load.json" in cli.refused("runs", "export", run.run_id, "-o", "runs.zip")


OWN_KEY, OTHER_KEY, QUOTED = "sk-very-secret-key", "sk-proj-0123456789abcdefABCDEF", "AKIAIOSFODNN7EXAMPLE"


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (f"no file /home/ada/x.txt, key {OWN_KEY}", "x.txt"),
        (f"401 for {OTHER_KEY} at http://me:word@host/v1", "401 for *** at http://***@host/v1"),
    ],
)
def test_an_export_has_no_paths_and_keys_of_this_machine_but_all_data(
    cli: CommandLine, message: str, shown: str
) -> None:
    config = {"dataset": {"path": "/home/ada/my docs", "questions": "/q", "options": [OTHER_KEY]}}
    scored = ScoredRun(scores={"accuracy": [1.0, 0.0]}, said=(f"such as {QUOTED}",), config=config)
    run = write_run(cli.results, scored)
    said = Failure(kind="OSError", message=message)
    changes = {"status": "error", "prediction": None, "failure": said, "attempt": 2}
    close_again(run, run.records()["q001", 0].model_copy(update=changes))
    done = cli.call("runs", "export", run.run_id, "-o", "runs.zip", MY_API_KEY=OWN_KEY)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(cli.folder / "runs.zip") as packed:
        text = b"".join(map(packed.read, packed.namelist())).decode()
    private = ("/home/ada", '"/q"', OWN_KEY, OTHER_KEY, "me:word", str(cli.folder))
    assert not any(word in text for word in private) and QUOTED in text
    assert cli.call("runs", "receive", "runs.zip", "--results", "theirs").returncode == 0
    (received,) = find_runs(cli.folder / "theirs", [])
    assert shown in str(received.records()["q001", 0].failure)


def test_a_score_or_cost_that_no_run_can_have_is_damage(cli: CommandLine, runs: list[RunDir]) -> None:
    values = {name: [1.0, value, 1.0, 1.0] for name, value in {"a": 1.5, "b": -0.5, "c": 1e308}.items()}
    plans = [ScoredRun(system=name, scores={"accuracy": own}) for name, own in values.items()]
    damaged = [write_run(cli.results, plan) for plan in plans]
    for run in damaged:
        said = cli.refused("report", run.run_id, runs[0].run_id)
        assert run.run_id in said and "accuracy" in said and "q001" in said and "evaluate" in said
    assert {row["run_id"] for row in listed(cli) if row["damage"]} == {run.run_id for run in damaged}
    costs: dict[str, Any] = {"d": {"wall_s": -5.0}, "e": {"usage": {"generator": {"calls": -1}}}}
    for system, cost in costs.items():
        run = write_run(cli.results, ScoredRun(system=system, scores={"accuracy": [1.0] * 4}, finished=False))
        record = run.records()["q001", 0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Of pydantic, which writes what it would not read.
            changes = {"cost": record.cost.model_copy(update=cost), "attempt": 2}
            run.append_record(record.model_copy(update=changes))
        assert run.run_id in cli.refused("report", run.run_id, runs[0].run_id)


@pytest.mark.parametrize("changes", [{"identity": {"models": {"judge": "x"}}}, {"config": {"margin": "x"}}])
def test_a_manifest_that_no_reader_understands_is_damage(
    cli: CommandLine, runs: list[RunDir], changes: Any
) -> None:
    path = runs[0].path / "manifest.json"
    whole, closed = checksums.opened(path, json.loads(path.read_text()), "")
    for key, own in changes.items():
        whole[key] = {**whole[key], **own}
    named = [path.with_name(name) for name in closed]
    path.write_text(checksums.sealed(RootModel[dict[str, Any]](whole), named))
    cli.refused("report", *(run.run_id for run in runs))
    cli.refused("runs", "export", runs[0].run_id, "-o", "runs.zip")


Entries = dict[str, bytes]


def _edit(name: str, old: bytes, new: bytes) -> Callable[[Entries], None]:
    def change(entries: Entries) -> None:
        found = next(one for one in entries if one.endswith(name))
        assert old in entries[found]
        entries[found] = entries[found].replace(old, new, 1)

    return change


def _add(name: str, content: bytes = b"x") -> Callable[[Entries], None]:
    return lambda entries: entries.update({name: content})


FILE, LINK = 0o644, 0o120777


@pytest.mark.parametrize(
    ("change", "mode"),
    [
        (_edit("answer.jsonl", b'"value":1.0', b'"value":0.0'), FILE),
        (_edit("export.json", b'"runs"', b'"rums"'), FILE),
        (_edit("export.json", b'"schema_version": 7', b'"schema_version": 6'), FILE),
        *((_add(name), FILE) for name in ("../outside", "/tmp/outside", "demo--x/../../outside")),
        (_add("demo--x/calls.sqlite"), FILE),
        (_add("demo--x/records.jsonl", bytes(50_000_000)), FILE),
        (lambda entries: None, LINK),
        (lambda entries: entries.pop("export.json"), FILE),
        (lambda entries: entries.clear(), FILE),
    ],
)
def test_an_export_that_was_changed_or_has_a_link_is_refused_and_adds_nothing(
    cli: CommandLine, exported: Path, change: Callable[[Entries], None], mode: int
) -> None:
    with zipfile.ZipFile(exported) as packed:
        entries = {name: packed.read(name) for name in packed.namelist()}
    change(entries)
    with zipfile.ZipFile(exported, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in entries.items():
            info = zipfile.ZipInfo(name)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, mode << 16
            packed.writestr(info, content)
    cli.refused("runs", "receive", str(exported), "--results", "theirs")
    assert not [*(cli.folder / "theirs").glob("*--*")]
    assert {path.name for path in cli.folder.glob("theirs/.runs/*")} <= {".lock"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("file_size", 10),
        ("compress_size", 1 << 31),
        ("flag_bits", 0x20),
        ("flag_bits", 0x40),
        ("extract_version", 99),
    ],
)
def test_an_export_whose_directory_is_false_or_of_another_program_is_refused(
    cli: CommandLine, exported: Path, field: str, value: int
) -> None:
    with zipfile.ZipFile(exported) as packed:
        entries = {name: packed.read(name) for name in packed.namelist() if name != archive.LIST}
    names = {name: content[:10] if field == "file_size" else content for name, content in entries.items()}
    files = {
        name: archive.ExportedFile(bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
        for name, content in names.items()
    }
    listed = archive.ExportList(runs=tuple(sorted({name.partition("/")[0] for name in entries})), files=files)
    with zipfile.ZipFile(exported, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(archive.LIST, checksums.sealed(listed))
        for name, content in entries.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(info, content)
            setattr(info, field, value)  # In the directory, which is written at the end.
    cli.refused("runs", "receive", str(exported), "--results", "theirs")
    assert not [*(cli.folder / "theirs").glob("*--*")]


@pytest.mark.parametrize(
    "names", [("manifest.json", *(f"scores/a{n}.json" for n in range(1_000))), ("tags.json",)]
)
def test_files_that_no_run_has_are_refused_before_any_is_written(cli: CommandLine, names: tuple[str, ...]) -> None:
    (cli.folder / "packed" / "demo--x" / "scores").mkdir(parents=True)
    for name in names:
        (cli.folder / "packed" / "demo--x" / name).write_bytes(b"x")
    with (cli.folder / "many.zip").open("wb") as file:
        archive.pack(file, cli.folder / "packed")
    with patch.object(hand_on, "unpack", side_effect=AssertionError):
        cli.refused("runs", "receive", "many.zip", "--results", "theirs")


def test_neither_a_truncated_file_nor_another_kind_of_file_is_received(cli: CommandLine, exported: Path) -> None:
    content = exported.read_bytes()
    for other in (b"", b"PK", content[: len(content) // 2], content[:-1] + b"PK\5\6", content[100:]):
        exported.write_bytes(other)
        cli.refused("runs", "receive", str(exported), "--results", "theirs")
    os.mkfifo(cli.folder / "pipe")
    for place in ("pipe", "results", "nowhere.zip"):
        cli.refused("runs", "receive", place, "--results", "theirs")
    assert not [*cli.folder.glob("theirs/*--*")]
