"""Runs of somebody else's: what they say of judges, parameters and prices is shown, nothing of it is obeyed."""

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLineHere
from echoing_server import EchoingServer, serve_echoes
from paired_runs import ScoredRun, write_run

import harness.api as rag
from harness.api.config_building import evaluation_config
from harness.config import JudgeConfig
from harness.core.errors import ConfigError
from harness.store import RunDir

SECRET = "value-of-a-variable-0123"


@pytest.fixture
def elsewhere() -> Iterator[EchoingServer]:
    """The server of whoever made the run."""
    yield from serve_echoes()


@pytest.fixture
def cli(tmp_path: Path) -> CommandLineHere:
    env = {"RAG_HARNESS_CACHE": str(tmp_path / "cache"), "AWS_SECRET": SECRET, "SSL_CERT_DIR": str(tmp_path)}
    return CommandLineHere(tmp_path, env)


def saying(results: Path, **config: Any) -> RunDir:
    """A finished run whose config says that."""
    return write_run(results, ScoredRun(scores={"accuracy": [1.0, 0.0]}, said=("It is so.",), config=config))


def model_at(server: EchoingServer) -> dict[str, Any]:
    named = {"provider": "openai-compatible", "base_url": server.base_url, "model": "m", "max_retries": 0}
    return {**named, "api_key_env": "AWS_SECRET"}


@pytest.mark.parametrize(("role", "evaluator"), [("judge", "rag_eval"), ("judge_embedder", "kg_nlp")])
def test_a_run_names_no_server(cli: CommandLineHere, elsewhere: EchoingServer, role: str, evaluator: str) -> None:
    run = saying(cli.results, evaluators=[evaluator], models={role: model_at(elsewhere)})
    line = cli.refused("evaluate", run.run_id)
    assert f"the config of {run.run_id} names a {role} of its own, which is not used without your consent" in line
    assert f"--set models.{role}.api_key_env=AWS_SECRET" in line
    assert elsewhere.heard == []
    assert SECRET not in line


def test_a_judge_is_used_if_the_user_names_all_of_it(cli: CommandLineHere, elsewhere: EchoingServer) -> None:
    run = saying(cli.results, evaluators=["rag_eval"], models={"judge": model_at(elsewhere)})
    line = cli.refused("evaluate", run.run_id)
    words = shlex.split(line.partition("the run's values (")[2].partition("), or the default")[0])
    judge = evaluation_config(run, settings=[word for word in words if word != "--set"]).models.judge
    assert judge == JudgeConfig(**model_at(elsewhere)), "the words that it shows mean what the run says"
    assert "--config FILE" in cli.refused("evaluate", run.run_id, "--set", "models.judge.max_tokens=64")
    own = cli.folder / "own.yaml"
    own.write_text("{evaluators: [rag_eval], models: {judge: {provider: fake}}}", encoding="utf-8")
    for chosen in (("--set", "models.judge.provider=fake"), ("--config", str(own))):
        assert cli.call("evaluate", run.run_id, "--quiet", *chosen).returncode in {0, 3}
    assert elsewhere.heard == []


def test_a_judge_that_nobody_asks_needs_no_word(cli: CommandLineHere, elsewhere: EchoingServer) -> None:
    run = saying(cli.results, evaluators=["answer"], models={"judge": model_at(elsewhere)})
    assert cli.call("evaluate", run.run_id, "--quiet").returncode == 0
    default = saying(cli.folder / "other", evaluators=["answer"], models={"judge": {"provider": "local"}})
    assert cli.call("evaluate", str(default.path), "--quiet").returncode == 0


def test_a_run_names_no_model_that_an_evaluator_loads(cli: CommandLineHere) -> None:
    said = {"retrieval": {"ks": [1, 2], "longest_fact": 500}}
    run = saying(cli.results, evaluators=["answer", "retrieval"], per_evaluator=said)
    line = cli.refused("evaluate", run.run_id, "--evaluators", "answer,retrieval")
    assert "names parameters of retrieval of its own" in line
    assert "--set 'per_evaluator.retrieval.ks=[1, 2]' --set per_evaluator.retrieval.longest_fact=500" in line
    assert cli.call("evaluate", run.run_id, "-e", "answer", "--quiet").returncode == 0


@pytest.mark.parametrize("command", ["evaluate", "report", "compare", "show"])
def test_no_command_reads_the_price_table_that_a_run_names(cli: CommandLineHere, command: str) -> None:
    trap = cli.folder / "trap.yaml"
    trap.write_text("not: a price table", encoding="utf-8")
    run = saying(cli.results, evaluators=["answer"], prices=str(trap))
    line = cli.refused(command, run.run_id)
    assert f"add --prices {trap}, or --prices configs/prices.yaml for the shipped one" in line
    if command == "show":
        assert cli.call(command, run.run_id, "--prices", "configs/prices.yaml").returncode == 0


def test_a_run_sends_its_answers_to_no_cluster(cli: CommandLineHere) -> None:
    places = {"executor": "ray", "ray_address": "198.51.100.7:6379", "workers": 3}
    run = saying(cli.results, evaluators=["answer"], runner={"failure_tolerance": 0.4, **places})
    runner = evaluation_config(run).runner
    assert (runner.executor, runner.ray_address, runner.workers) == ("local", None, None)
    assert runner.failure_tolerance == 0.4
    said = evaluation_config(run, settings=["runner.executor=ray"]).runner
    assert (said.executor, said.ray_address) == ("ray", None)


# Runs that were made with price tables of their own: whose is read says the reader, for every row the same.


MadeWith = Callable[[str, str | None], RunDir]
REFUSED = r"names its own price table, which is read only if you name it: add --prices .*\.yaml"


def table(path: Path, usd: float) -> Path:
    entry = f"{{provider: openai, model: gpt-4o-mini, input: {usd}, output: 0, as_of: 2026-01-01, source: mine}}"
    path.write_text(f"prices:\n  - {entry}\n", encoding="utf-8")
    return path


@pytest.fixture
def made_with(tmp_path: Path) -> MadeWith:
    """made_with(system, a price table or None): a run whose config names it, of 100, 101 and 102 input tokens."""

    def make(system: str, prices: str | None) -> RunDir:
        scores = {"accuracy": [1.0, 0.0, 1.0]}
        return write_run(tmp_path / "results", ScoredRun(system=system, scores=scores, config={"prices": prices}))

    return make


def usd_of(runs: list[RunDir], **wishes: object) -> list[float]:
    """Dollars of a mean query of the first run and of the second."""
    (row,) = rag.compare(rag.Runs(runs), ["usd"], **wishes).to_dict("records")  # type: ignore[arg-type]
    return [row["mean_a"], row["mean_b"]]


@pytest.mark.parametrize("other", [None, "dear.yaml"])
def test_prices_named_by_a_run_are_not_read(made_with: MadeWith, tmp_path: Path, other: str | None) -> None:
    cheap, dear = table(tmp_path / "cheap.yaml", 1.0), table(tmp_path / "dear.yaml", 7.0)
    runs = [made_with("naive", str(cheap)), made_with("kg", str(tmp_path / other) if other else None)]
    with pytest.raises(ConfigError, match=REFUSED):
        usd_of(runs)
    with pytest.raises(ConfigError, match=REFUSED):
        usd_of(runs[:1], against=runs[1])
    with pytest.raises(ConfigError, match=REFUSED):
        rag.report(rag.Runs(runs), tmp_path / "report")
    assert not (tmp_path / "report").exists()
    assert usd_of(runs, prices=dear) == pytest.approx([707e-6, 707e-6])
    assert usd_of(runs[:1], against=runs[1], prices=cheap) == pytest.approx([101e-6, 101e-6])


@pytest.mark.slow
def test_commands_read_no_prices_named_by_a_run(made_with: MadeWith, cli: CommandLineHere, tmp_path: Path) -> None:
    cheap = str(table(tmp_path / "cheap.yaml", 1.0))
    naive, kg = made_with("naive", cheap).run_id, made_with("kg", None).run_id
    for words in (("report", naive, kg), ("compare", naive, kg), ("compare", kg, "--against", naive)):
        assert "its own price table" in cli.refused(*words), words
    done = cli.call("compare", naive, kg, "--measures", "usd", "--prices", cheap, "--json")
    ranking = json.loads(done.stdout)["measures"][0]["ranking"]
    assert [one["mean"] for one in ranking] == pytest.approx([101e-6] * 2)
