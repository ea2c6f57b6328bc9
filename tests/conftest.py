"""Rules for all tests."""

import gc
import os
import signal
import sys
from pathlib import Path

import hypothesis
import pytest

# Thousands of processes are started here. Where a shell keeps Python from writing compiled code, each of them
# would compile every library anew: more than half of the time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# In the background of a shell script Ctrl-C is ignored, and whatever is started inherits that. Handlers are not
# inherited: this one leaves the tests themselves as they were.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, lambda _signal, _frame: None)

pytest_plugins = (
    "chromium",
    "connection_guard",
    "data_files",
    "neo4j_server",
    "plugins",
    "smoke_index",
    "teller_server",
)


# A machine that does other work takes its time: how long an example takes says nothing of the code.
# Each run draws other examples, so half of the usual number is enough for one.
hypothesis.settings.register_profile(
    "steady", deadline=None, max_examples=50, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("steady")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files come first. Tests that need more of the network than a package index run only where
    someone says so. No file has a mark that `make test` would not see in it.
    """
    for mark in ("slow", "alone"):
        for path in {item.path for item in items if item.get_closest_marker(mark)}:
            if f"mark.{mark}" not in path.read_text(encoding="utf-8"):
                raise pytest.UsageError(f"{path} does not say mark.{mark}, by which `make test` finds such files")
    from neo4j_server import asks_for_a_server

    # All tests with a Neo4j run in one process: together they take minutes.
    long = {item.path for item in items if item.get_closest_marker("long") or asks_for_a_server(item.path)}
    items.sort(key=lambda item: item.path not in long)
    if os.environ.get("RAG_HARNESS_NETWORK_TESTS") == "1":
        return
    skip = pytest.mark.skip(reason="needs the Hugging Face hub: set RAG_HARNESS_NETWORK_TESTS=1")
    for item in items:
        if item.get_closest_marker("network"):
            item.add_marker(skip)


def pytest_collection_finish() -> None:
    """Thousands of tests, and what modules keep of real data sets, live to the end: walking over all of it again
    and again took the garbage collector a third of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The shared data sets ($RAG_HARNESS_DATA, else ../shared/data); without them tests skip, in CI they fail."""
    beside = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    folder = Path(os.environ.get("RAG_HARNESS_DATA") or beside)
    if not folder.is_dir():
        reason = f"no shared data at {folder} (set RAG_HARNESS_DATA)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return folder
