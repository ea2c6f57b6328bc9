"""Selects a store by name."""

from pathlib import Path
from typing import Literal

from systems.common.graph_stores.contract import GraphStore
from systems.common.graph_stores.ladybug import LadybugStore, check_ladybug
from systems.common.graph_stores.neo4j import Neo4jStore
from systems.common.graph_stores.neo4j_server import Neo4jSettings, check_limits, check_neo4j

StoreKind = Literal["ladybug", "neo4j"]
"""`ladybug`: files in the index folder, no server. `neo4j`: the server that NEO4J_URI names."""


def open_store(kind: StoreKind, folder: Path) -> GraphStore:
    """The store of the index in `folder`, not opened yet. MissingDependency if its package is not installed."""
    return Neo4jStore(folder) if kind == "neo4j" else LadybugStore(folder)


def servers_of(kind: StoreKind) -> list[str]:
    """The URL of the server that a store of this kind uses, if any."""
    return [Neo4jSettings.from_environment().uri] if kind == "neo4j" else []


def check_store(kind: StoreKind) -> None:
    """Raise MissingDependency or ServiceUnavailable if a store of this kind cannot be used now.

    Fast, without changes; systems call it in their preflight.
    """
    if kind == "neo4j":
        check_neo4j()
    else:
        check_ladybug()


def check_limited_statements(kind: StoreKind) -> None:
    """Raise ServiceUnavailable if a statement of a model could use unlimited time or memory of a server."""
    if kind == "neo4j":
        check_limits()
