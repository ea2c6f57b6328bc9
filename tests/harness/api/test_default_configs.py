"""What `run --docs` and the shipped configs compare when nothing else is said."""

from pathlib import Path

import pytest

from harness.api.benchmark import Benchmark
from harness.api.config_building import DatasetChoice, bench_config, bench_configs
from harness.api.frames import Runs
from harness.api.run_status import planned_cells
from harness.api.running import RunOptions, run_bench, run_benches
from harness.config import BenchConfig
from harness.config.shipped_files import shipped_configs
from harness.report.verdict.findings import find
from harness.report.view import load_groups
from harness.runner.plan import left_out_lines, plan_cells
from harness.statistics.prices import load_prices

DATA_SETS = ("demo", "documents", "multihop_rag", "ms_marco", "uda_qa", "rag_12000", "musique")
FAKE = {"generator": {"provider": "fake"}, "embedder": {"provider": "fake"}}
RETRIEVAL = ["models.generator.provider=none", "models.embedder.provider=fake", "systems=[naive]"]
QUOTE = "Marta Lind runs the bakery in Holm."


def documents(folder: Path, *, quote: str = "") -> DatasetChoice:
    docs, questions = folder / "docs", folder / "asked.csv"
    docs.mkdir()
    (docs / "bakery.md").write_text(f"# The bakery\n\n{QUOTE}\n")
    questions.write_text(f"question,answer,quote\nWho runs the bakery in Holm?,Marta Lind,{quote}\n")
    return DatasetChoice(docs=docs, questions=questions)


def test_own_documents_are_compared_by_retrieval_first_and_then_by_answers(tmp_path: Path) -> None:
    chosen = documents(tmp_path, quote=QUOTE)
    retrieval, answers = bench_configs(dataset=chosen)
    assert retrieval.models.generator.is_none
    assert not answers.models.generator.is_none
    assert answers.budget.minutes
    searches = [(one.system, one.answer) for one in planned_cells(retrieval, tmp_path)]
    assert [(system, answer["search"]) for system, answer in searches] == [
        ("naive", "bm25"),
        ("naive", "hybrid"),
        ("kg", "hybrid"),
    ]
    planned = planned_cells(answers, tmp_path)
    assert [one.system for one in planned] == ["naive", "naive", "kg", "community", "closed-book", "gold"]
    assert [(one.system, one.answer) for one in planned][:3] == searches, "what is recommended is what answers"
    assert {one.index_calls for one in planned} == {0}


@pytest.mark.parametrize("half", ["demo", "documents"])
def test_the_retrieval_that_is_recommended_is_among_what_answers(half: str, tmp_path: Path) -> None:
    first = {"demo": "retrieval", "documents": "documents_retrieval"}[half]
    demo = DatasetChoice("demo")
    retrieval, answers = (
        bench_config(shipped_configs() / "bench" / f"{name}.yaml", dataset=demo) for name in (first, half)
    )
    best = [one.answer for one in planned_cells(retrieval, tmp_path) if one.answer["search"] == "hybrid"]
    answering = [one.answer for one in planned_cells(answers, tmp_path)]
    assert all(answer in answering for answer in best)


def test_settings_of_the_generator_are_for_the_answers_and_named_systems_are_one_step(tmp_path: Path) -> None:
    chosen = documents(tmp_path)
    (only,) = bench_configs(dataset=chosen, settings=["models.generator.provider=none"])
    assert only.models.generator.is_none
    assert "closed-book" not in only.systems
    settings = ["models.generator.provider=ollama", "models.generator.model=m", "models.embedder.provider=fake"]
    retrieval, answers = bench_configs(dataset=chosen, settings=settings)
    assert (answers.models.generator.provider, answers.models.generator.model) == ("ollama", "m")
    assert retrieval.models.generator.is_none
    assert retrieval.models.embedder.provider == answers.models.embedder.provider == "fake"
    (only,) = bench_configs(dataset=chosen, systems=["naive", "kg"])
    planned = planned_cells(only, tmp_path)
    assert [(one.system, one.answer["search"]) for one in planned] == [("naive", "hybrid"), ("kg", "hybrid")]
    assert only.budget.minutes


def test_no_config_in_the_current_folder_replaces_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = tmp_path / "configs" / "bench"
    planted.mkdir(parents=True)
    (planted / "documents.yaml").write_text("models: {generator: {base_url: 'http://203.0.113.1'}}\n")
    monkeypatch.chdir(tmp_path)
    assert {config.models.generator.base_url for config in bench_configs(dataset=documents(tmp_path))} == {None}


@pytest.mark.parametrize("name", DATA_SETS)
def test_shipped_configs_compare_architectures_without_calls_for_indexes(name: str, tmp_path: Path) -> None:
    path = shipped_configs() / "bench" / f"{name}.yaml"
    settings = ["dataset.sample={per_type: 1}", "dataset.corpus=cited"]
    config = bench_config(path, dataset=DatasetChoice("demo"), settings=settings)
    planned = planned_cells(config, tmp_path)
    assert {"naive", "kg", "community"} <= {one.system for one in planned}
    assert {one.index_calls for one in planned} == {0}


def test_a_plan_says_how_often_the_index_of_a_system_calls_the_model(tmp_path: Path) -> None:
    (cell,) = planned_cells(bench_config(systems=["kg"], settings=["dataset.sample={per_type: 1}"]), tmp_path)
    assert cell.index_calls
    assert cell.index_calls > cell.n_documents
    assert cell.generator == "local/qwen2.5-coder-0.5b"


@pytest.mark.usefixtures("workers_here")
@pytest.mark.parametrize(("quote", "metric"), [("", "answer_Hit@4000c"), (QUOTE, "fact_Recall@4000c")])
def test_without_evidence_the_answer_in_the_context_ranks(tmp_path: Path, quote: str, metric: str) -> None:
    chosen = documents(tmp_path, quote=quote)
    (tmp_path / "docs" / "other.md").write_text("# The mill\n\nOwe Strand grinds rye in Aro.\n")
    (config,) = bench_configs(dataset=chosen, settings=RETRIEVAL)
    bench = run_bench(config, RunOptions(tmp_path / "results", quiet=True))
    scores = Runs(bench.runs).scores
    assert list(scores[scores["measure"] == metric]["value"]) == [1.0, 1.0]
    group = load_groups(bench.runs, load_prices())[0]
    verdict = find(group).verdict
    assert (verdict.metric, bool(verdict.recommended)) == (metric, True)
    assert not [note for view in group.views for note in view.notes if "answer_Hit" in note]


@pytest.mark.usefixtures("workers_here")
def test_a_baseline_that_sees_the_evidence_is_left_out_where_there_is_none(tmp_path: Path) -> None:
    systems = {"systems": ["closed-book", "gold"], "models": FAKE}
    config = bench_config(systems, dataset=documents(tmp_path))
    bench = run_bench(config, RunOptions(tmp_path / "results", quiet=True, records_only=True))
    assert [cell.spec.name for cell in bench.cells] == ["closed-book"]
    cells = plan_cells(config)
    assert [cell.spec.name for cell in cells] == ["closed-book"], "and in a plan"
    assert "gold" in left_out_lines(config, cells)[0]
    told = bench_config({**systems, "dataset": {"name": "demo"}, "exclude": [{"system": "gold"}]})
    assert left_out_lines(told, plan_cells(told)) == [], "excluded by its user"


@pytest.mark.usefixtures("workers_here")
def test_several_systems_under_a_budget_take_turns(tmp_path: Path) -> None:
    config = bench_config(
        {
            "systems": ["closed-book", "gold"],
            "dataset": {"name": "demo", "sample": {"per_type": 2}},
            "models": {"generator": {"provider": "fake", "max_tokens": 32}, "embedder": {"provider": "fake"}},
            "budget": {"tokens": 3000},
        }
    )
    bench = run_bench(config, RunOptions(tmp_path, quiet=True, records_only=True))
    reached = {result.run.path: result.run.reach() for result in bench.results}
    assert bench.stopped is None
    assert len({reach.query_ids for reach in reached.values() if reach}) == 1, "all answered the same queries"


@pytest.mark.usefixtures("workers_here")
def test_configs_that_name_the_same_minutes_share_them_and_others_have_their_own(tmp_path: Path) -> None:
    def config(minutes: float | None, top_k: int) -> BenchConfig:
        sample = {"name": "demo", "sample": {"per_type": 1}}
        own = {"answer": {"top_k": top_k}, "budget": {"minutes": minutes}}
        return bench_config({"systems": ["naive"], "dataset": sample, "models": FAKE, **own})

    configs = [config(None, 1), config(10, 2), config(10, 3), config(20, 4)]
    benches = run_benches(configs, RunOptions(tmp_path, quiet=True, records_only=True))
    ends = [bench.spending.allowance().end_by for bench in benches]
    assert ends[0] is None and ends[1] is not None and ends[3] is not None
    assert ends[1] == pytest.approx(ends[2], abs=1.0)
    assert ends[3] > ends[1] + 600


@pytest.mark.usefixtures("workers_here")
def test_retrieval_is_scored_before_the_answers_begin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = documents(tmp_path, quote=QUOTE)

    def config(provider: str) -> BenchConfig:
        models = {**FAKE, "generator": {"provider": provider}}
        tree = {"systems": ["naive"], "models": models, "evaluators": ["retrieval"]}
        return bench_config(tree, dataset=chosen)

    told: list[tuple[str, ...]] = []

    def on_stage_end(stage: Benchmark) -> None:
        assert stage.outcome is not None
        told.append(tuple(path.parent.name for path in results.glob("*/manifest.json")))

    results = tmp_path / "results"
    benches = run_benches([config("none"), config("fake")], RunOptions(results), on_stage_end)
    assert told == [(benches[0].runs[0].run_id,)]
    assert capsys.readouterr().err.count("documents read from") == 1, "notes on the documents are for both"
