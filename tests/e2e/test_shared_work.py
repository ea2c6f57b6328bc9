"""What two runs need alike is computed once, and each index says who paid."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLineHere, over_http
from records import known

from harness.core.records import IndexRecord
from harness.store import RunDir

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("workers_here")]


Runs = Callable[..., tuple[RunDir, IndexRecord, int]]


@pytest.fixture
def runs(here: CommandLineHere, serve: Any) -> Runs:
    """runs(system, *settings): its folder, its index.json, and how often the server was asked for either."""
    server, journal = serve(), here.results / "indexes" / "calls.sqlite"

    def served() -> int:
        """Without the calls that find out whether it answers."""
        if not journal.exists():
            return 0
        with closing(sqlite3.connect(journal)) as opened:
            ((first,),) = opened.execute("SELECT count(*) FROM calls WHERE scope LIKE 'preflight/%'")
        return int(server.model.served["calls"]) - int(first)

    def make(system: str, *settings: str) -> tuple[RunDir, IndexRecord, int]:
        before = served()
        options = [word for setting in settings for word in ("--set", setting)]
        run = RunDir(Path(here.run("--system", system, *over_http("generator", server), *options)["path"]))
        index = known(run.index())
        return run, index, served() - before

    return make


N_QUERIES = 8


def test_a_graph_is_paid_once_for_other_answers_and_for_community_and_again_for_another_model(runs: Runs) -> None:
    kg, paid, asked = runs("kg")
    assert paid.stats.chunks is not None
    assert asked == paid.stats.chunks + N_QUERIES
    second, again, asked_again = runs("kg", "answer.top_k=1")
    assert (second.run_id != kg.run_id, again.reused_from, asked_again) == (True, kg.run_id, N_QUERIES)
    _, index, asked = runs("community", "answer.mode=local")
    assert index.reused_from is None
    assert index.cost.replayed_from == {kg.run_id: {"generator": paid.cost.usage["generator"]}}
    assert index.cost.replayed_calls == index.stats.chunks == paid.stats.chunks
    # The rest are its own: the reports.
    assert 0 < index.cost.usage["generator"].calls - index.cost.replayed_calls == asked - N_QUERIES
    _, index, asked = runs("kg", "models.generator.model=another")
    assert (index.reused_from, index.cost.replayed_calls) == (None, 0)
    assert asked == paid.cost.usage["generator"].calls + N_QUERIES


@pytest.mark.usefixtures("neo4j_server")
def test_another_store_asks_the_model_nothing_and_holds_the_same_graph(runs: Runs) -> None:
    ladybug, paid, _ = runs("kg", "index.store=ladybug")
    neo4j, index, asked = runs("kg", "index.store=neo4j")
    assert asked == N_QUERIES
    assert index.cost.replayed_from == {ladybug.run_id: {"generator": paid.cost.usage["generator"]}}
    assert index.stats.model_copy(update={"notes": ()}) == paid.stats
    records = neo4j.records()
    for key, record in ladybug.records().items():
        assert record.prediction is not None
        other = known(records[key].prediction)
        passages = [[c.span for c in p.contexts if c.kind == "passage"] for p in (record.prediction, other)]
        assert passages[0] == passages[1]
