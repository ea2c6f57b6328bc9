"""Local models of a command that judges or writes: each is served once, and not beyond the time of the budget."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.config import BudgetConfig, GeneratorConfig, JudgeConfig, JudgeEmbedderConfig, ModelsConfig
from harness.core.errors import BudgetExhausted, ModelUnavailable
from harness.models.llama_server import ServerAccess
from harness.models.providers import provider_of
from harness.runner.budget_tracker import BudgetTracker
from harness.runner.evaluating import models as opened
from harness.runner.evaluating.models import EvaluationModels
from harness.runner.evaluating.plan import EvaluationPlan
from harness.runner.progress import Reporter
from harness.runner.writer_models import WriterModels, WriterPlan, plan_models
from harness.statistics.prices import Prices

QUIET = Reporter(quiet=True)
LARGE = "qwen2.5-coder-1.5b"


class Servers:
    """In place of local servers: the logs of those that were started. `is_slow`: none is ready in time."""

    def __init__(self) -> None:
        self.logs: list[Path] = []
        self.is_slow = False

    @contextmanager
    def start(self, _config: GeneratorConfig, log: Path) -> Iterator[Any]:
        if self.is_slow:
            raise ModelUnavailable("the local model server did not answer", "try again")
        self.logs.append(log)
        port = 8000 + len(self.logs)
        yield SimpleNamespace(access=ServerAccess(base_url=f"http://127.0.0.1:{port}/v1", api_key="made-for-this"))


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Servers:
    found = Servers()
    monkeypatch.setattr(opened, "provider_of", lambda config: replace(provider_of(config), serve=found.start))
    monkeypatch.setattr(opened, "fetch_weights", lambda *_: None)
    return found


def local(*, writer: str) -> WriterPlan:
    generator = GeneratorConfig(provider="local", model=writer, max_tokens=64)
    return plan_models(ModelsConfig(generator=generator, judge=JudgeConfig(provider="local", model=LARGE)))


@pytest.mark.parametrize(
    ("writer", "logs"),
    [(LARGE, ["server-generator.log"]), ("qwen2.5-coder-0.5b", ["server-generator.log", "server-judge.log"])],
)
def test_writer_and_judge_share_the_server_of_one_model(
    tmp_path: Path, servers: Servers, writer: str, logs: list[str]
) -> None:
    with ExitStack() as stack:
        models = WriterModels(local(writer=writer), tmp_path / "work", QUIET, stack, BudgetTracker.unlimited())
        assert models.writer is models.writer and models.judge is models.judge
    assert servers.logs == [tmp_path / "work" / name for name in logs]


def test_a_server_that_is_not_ready_in_the_time_of_the_budget_is_no_failure_of_the_model(
    tmp_path: Path, servers: Servers
) -> None:
    servers.is_slow = True
    for began, error in ((time.monotonic(), ModelUnavailable), (time.monotonic() - 600, BudgetExhausted)):
        spending = BudgetTracker(BudgetConfig(minutes=5), Prices(()), tmp_path, (), began)
        with ExitStack() as stack, pytest.raises(error):
            _ = WriterModels(local(writer=LARGE), tmp_path / "work", QUIET, stack, spending).writer


def test_the_server_of_a_judge_is_started_once_and_its_log_lies_with_the_judgements(
    tmp_path: Path, servers: Servers
) -> None:
    plan = local(writer=LARGE)
    judging = EvaluationPlan((), plan.judge, JudgeEmbedderConfig(), plan.identities)
    with ExitStack() as stack:
        models = EvaluationModels(judging, tmp_path / "judge", QUIET, stack)
        assert models.server is models.server is not None
        assert models.judge is models.judge
    assert servers.logs == [tmp_path / "judge" / "server-judge.log"]
