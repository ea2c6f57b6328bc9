"""The harness from Python, as a notebook uses it: real runs of the scripted model, frames, errors of one line."""

import asyncio
import csv
import sys
from pathlib import Path
from typing import Any

import pytest
from damaging import WorkersHere
from paired_runs import FAILED, ScoredRun, write_run

import harness.api as rag
from harness.core.errors import HarnessError, MissingDependency

pytestmark = pytest.mark.slow
FAKE: dict[str, Any] = {
    "models.generator.provider": "fake",
    "models.embedder.provider": "fake",
    "dataset.sample.per_type": 1,
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("api") / "results"


@pytest.fixture(scope="module")
def runs(results: Path) -> rag.Runs:
    """Two systems over four queries."""
    with WorkersHere():
        return rag.run(systems=["naive", "gold"], dataset="demo", settings=FAKE, results=results, quiet=True)


def summary(folder: Path) -> dict[tuple[str, str], float]:
    """(run, measure) -> mean over all queries, of a report's summary.csv."""
    with (folder / "summary.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["query_type"] == "overall" and row["mean"]]
    return {(row["run_id"], row["measure"]): float(row["mean"]) for row in rows}


def test_a_plan_and_an_estimate_cost_nothing_and_a_config_is_a_file_a_mapping_or_nothing(tmp_path: Path) -> None:
    nothing = tmp_path / "nothing"
    assert list(rag.plan(systems=["naive"], settings=FAKE, results=nothing)["status"]) == ["missing"]
    estimate = rag.estimate(systems=["naive"], settings=FAKE, results=nothing)
    assert (list(estimate["phase"]), list(estimate["calls"])) == (["index", "answer"], [0, 4])
    assert not nothing.exists()
    path = tmp_path / "mine.yaml"
    path.write_text("systems: [gold]\nmodels: {generator: {provider: fake}}\n")
    tree = {"systems": ["gold"], "models": {"generator": {"provider": "fake"}}}
    plans = [rag.plan(config, results=nothing) for config in (str(path), path, tree)]
    assert len({frame["run_id"][0] for frame in plans}) == 1


def test_the_winner_of_a_report_answers_in_a_program(runs: rag.Runs, results: Path, tmp_path: Path) -> None:
    rag.report(runs, tmp_path / "out")
    winner = tmp_path / "out" / "winner.yaml"
    (recommended,) = [one.recommended_run for one in rag.verdicts(runs)]
    assert list(rag.plan(winner, results=results)["run_id"]) == [recommended]

    async def program() -> list[Any]:
        with rag.load_system(str(winner), results=results) as system:
            assert system.run_id == recommended
            return [system.answer("Who runs Tidewright Power?") for _ in range(2)]

    for answer in asyncio.run(program()):
        assert answer.text
        assert answer.contexts[0].doc_ids
        assert answer.usage["generator"].calls == 1
    with rag.load_system(str(recommended), results=results) as system, pytest.raises(HarnessError):
        system.answer("  ")


def test_a_system_that_cannot_be_opened_is_one_line(runs: rag.Runs, results: Path, tmp_path: Path) -> None:
    for source in ({}, {"systems": ["naive", "gold"]}, "nowhere.yaml", "no-such-run"):
        with pytest.raises(HarnessError):
            rag.load_system(source, settings=FAKE if isinstance(source, dict) else None, results=tmp_path)
    gold = next(one for one in runs if "gold" in one.run_id)
    with pytest.raises(HarnessError):
        rag.load_system(gold.run_id, results=results)


def test_every_frame_knows_its_run_and_holds_every_row(runs: rag.Runs) -> None:
    assert list(runs.runs["label"]) == ["naive", "gold"]
    assert list(runs.runs["is_finished"]) == [True, True]
    assert [bool(baseline) for baseline in runs.runs["baseline"]] == [False, True]
    assert len(runs.records) == 8
    assert set(runs.records["status"]) == {"ok"}
    assert len(runs.contexts) == runs.records["n_contexts"].sum()
    assert set(runs.scores["evaluator"]) == {"answer", "retrieval", "failure_analysis"}
    assert (runs.scores.groupby(["run_id", "measure"]).size() == 4).all()
    for frame in (runs.runs, runs.records, runs.contexts, runs.scores):
        assert list(frame.columns[:4]) == ["run_id", "label", "system", "dataset"]


def test_the_mean_of_a_measure_is_the_one_that_a_report_prints(runs: rag.Runs, tmp_path: Path) -> None:
    page = rag.report(runs, tmp_path / "report")
    assert page.name == "report.html"
    printed = summary(page.parent)
    means = runs.scores.groupby(["run_id", "measure"])["value"].mean().dropna()
    assert len(means) > 40
    assert dict(means) == pytest.approx({key: printed[key] for key in means.index})


@pytest.mark.usefixtures("workers_here")
def test_a_failed_query_counts_with_the_worst_value(tmp_path: Path) -> None:
    settings = {**FAKE, "models.generator.options": {"fault": "http_500"}, "models.generator.max_retries": 0}
    with pytest.warns(UserWarning, match="4 of 4 queries failed"):
        failed = rag.run(systems=["closed-book"], settings=settings, results=tmp_path, quiet=True)
    assert list(failed.runs["n_failed"]) == [4]
    accuracy = failed.scores[failed.scores["measure"] == "accuracy"]
    assert list(accuracy["status"]) == ["imputed"] * 4
    assert list(accuracy["value"]) == [0.0] * 4
    assert set(failed.records["failure"]) == {"InternalServerError"}


def test_runs_are_compared_as_the_command_compares_them(runs: rag.Runs) -> None:
    frame = rag.compare(runs, ["accuracy", "Hit@10"])
    assert list(frame["measure"]) == ["accuracy", "Hit@10"]
    assert set(frame["system_a"]) | set(frame["system_b"]) == {"naive", "gold"}
    assert {"difference", "ci_low", "p_holm", "result", "detectable"} <= set(frame.columns)


def test_saved_runs_are_scored_again_where_an_event_loop_runs_already(runs: rag.Runs, results: Path) -> None:
    async def cell() -> rag.Runs:
        return rag.evaluate("demo--naive", ["answer"], results=results, quiet=True)

    scored = asyncio.run(cell())
    assert len(scored) == 1
    assert "accuracy" in set(scored.scores["measure"])


def test_runs_add_up_and_show_themselves(runs: rag.Runs, results: Path, tmp_path: Path) -> None:
    naive, gold = (rag.load(results, [name]) for name in ("demo--naive", "demo--gold"))
    assert [run.run_id for run in naive + gold + naive] == [run.run_id for run in runs]
    unscored = write_run(tmp_path, ScoredRun("naive", {"accuracy": (1.0, FAILED)}))
    assert list(rag.Runs([unscored]).scores["value"].isna()) == [False, True]
    assert "demo--naive" in repr(naive)
    assert "<table" in naive._repr_html_()
    assert list(rag.load(next(iter(naive)).path).runs["run_id"]) == list(naive.runs["run_id"])


def test_without_pandas_it_says_what_to_install(runs: rag.Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependency, match=r"pandas.*pip install 'rag-bench-harness\[notebook\]'"):
        _ = rag.Runs(runs.directories).records
