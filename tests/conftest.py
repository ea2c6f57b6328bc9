"""Rules for all tests."""

import os

import pytest

pytest_plugins = ("chromium", "neo4j_server")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that need more of the network than a package index run only where someone says so."""
    if os.environ.get("RAG_HARNESS_NETWORK_TESTS") == "1":
        return
    skip = pytest.mark.skip(reason="needs the Hugging Face hub: set RAG_HARNESS_NETWORK_TESTS=1")
    for item in items:
        if item.get_closest_marker("network"):
            item.add_marker(skip)
