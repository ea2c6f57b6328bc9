"""Pipelines of docs/examples through the command line: a real chain of LangChain over Chroma, a real
engine of LlamaIndex and a service in a process of its own, their models behind real HTTP.
"""

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import REPOSITORY, SMOKE, CommandLineHere, over_http
from records import known
from waiting import wait_for

from harness.core.records import OWN_MODELS, Usage
from harness.models.fake_model import FakeScript
from harness.store import RunDir

pytestmark = pytest.mark.slow
EXAMPLES = REPOSITORY / "docs" / "examples" / "pipelines"


@pytest.fixture
def beside(here: CommandLineHere) -> CommandLineHere:
    """The command line in the folder of the examples."""
    for path in EXAMPLES.glob("*.py"):
        shutil.copy(path, here.folder)
    return here


@pytest.fixture
def service(beside: CommandLineHere) -> Iterator[str]:
    """The URL of the example's service."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, "my_service.py", str(port)], cwd=beside.folder)

    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    wait_for(listens, 20)
    yield f"http://127.0.0.1:{port}/ask"
    process.kill()
    process.wait()


def ran(here: CommandLineHere, systems: list[str], *words: str) -> dict[str, RunDir]:
    """The runs of these systems over the smoke config, by name."""
    named = [word for name in systems for word in ("--system", name)]
    done = here.call("run", "--config", str(SMOKE), "--json", "--quiet", "--records-only", *named, *words)
    made: list[dict[str, Any]] = json.loads(done.stdout)["runs"]
    assert [(run["status"], run["n_ok"]) for run in made] == [("done", 8)] * len(systems), done.stderr
    return {name: RunDir(Path(run["path"])) for name, run in zip(systems, made, strict=True)}


def used(run: RunDir) -> Usage:
    """What all answers used of the generator."""
    return sum((record.cost.usage.get("generator", Usage()) for record in run.iter_records()), Usage())


# Their libraries leave connections open to the end of a worker's process, which here is this one.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("workers_here")
def test_pipelines_of_every_kind_are_metered(beside: CommandLineHere, service: str, serve: Any) -> None:
    server = serve(FakeScript())
    lent = [f'per_system."{service}".answer.lends=[generator]']
    indexed = ["langchain:my_chain:make_chain", "llamaindex:my_engine:make_engine"]
    systems = [*indexed, "python:my_function:make", service]
    runs = ran(beside, systems, *over_http("generator", server), "--set", *lent)
    for name, run in runs.items():
        usage = used(run)
        assert (usage.calls, usage.unmetered_calls) == (8, 0), name
        assert usage.input_tokens > 0
        assert not any(OWN_MODELS in record.cost.usage for record in run.iter_records())
    # What reached the server is what was counted, of each system.
    # And the one that asks a model whether it answers, before anything is paid.
    assert server.model.served["calls"] == 8 * len(systems) + 1
    for name in indexed:
        index = known(runs[name].index())
        assert (index.stats.documents, index.cost.embedded_texts + index.cost.cached_texts > 28) == (28, True)
        contexts = [one for record in runs[name].iter_records() if (p := record.prediction) for one in p.contexts]
        assert {len(one.doc_ids) for one in contexts} == {1}
        assert all(record.prediction and not record.prediction.trace for record in runs[name].iter_records())


def test_a_question_that_hangs_is_a_timeout_and_the_next_one_is_answered(beside: CommandLineHere) -> None:
    (beside.folder / "hangs.py").write_text(
        "import sys, time\n"
        "def answer(question, query_id):\n"
        '    print(\'{"kind": "completed"}\')\n'
        "    assert sys.stdin.read() == ''\n"
        "    if sum(map(ord, query_id)) % 4 == 1: time.sleep(3600)\n"
        "    return 'Yes'\n"
    )
    words = ["--set", "limits.query_timeout_s=2", "--set", "index.lends=[]", "--set", "answer.lends=[]"]
    made = beside.run("--system", "python:hangs:answer", *words)
    statuses = {record.query_id: record.status for record in RunDir(Path(made["path"])).iter_records()}
    late = [sum(map(ord, query_id)) % 4 == 1 for query_id in statuses]
    assert 0 < sum(late) < 8
    assert list(statuses.values()) == ["timeout" if is_late else "ok" for is_late in late]
