"""A worker's process, as the agent on its machine has it."""

import time

import pytest

from harness.extensions.ray import remote_worker as agents
from harness.extensions.ray.remote_worker import WorkerAgent


def ended(agent: WorkerAgent, within_s: float = 20.0) -> tuple[bytes, int | None]:
    """All that it printed, and its exit code."""
    log, until = b"", time.monotonic() + within_s
    while time.monotonic() < until:
        _, printed, code = agent.receive()
        log += printed
        if code is not None:
            return log, code
    return log, None


@pytest.mark.slow
def test_what_a_worker_prints_and_how_it_ends_is_fetched() -> None:
    agent = WorkerAgent(".")
    agent.send(b"no job\n")
    log, code = ended(agent)
    assert b"ValidationError" in log
    assert code == 1


def test_a_worker_of_which_nobody_fetches_anything_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "ALONE_S", 0.3)
    agent = WorkerAgent(".")
    time.sleep(0.6)
    assert ended(agent)[1] == -9


def test_a_worker_that_is_killed_ends_so() -> None:
    agent = WorkerAgent(".")
    agent.kill()
    assert ended(agent)[1] == -9
