"""The Neo4j server of the environment: connection and requirements."""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from harness.core.errors import ServiceUnavailable, need

if TYPE_CHECKING:
    import neo4j

_OLDEST = (5, 23)
"""The first version with the vector index's HNSW options and `CALL (row) { ... }`. Tested with 5.26."""
_PROCEDURES = (
    "apoc.create.relationship",
    "db.create.setNodeVectorProperty",
    "db.index.fulltext.queryNodes",
    "db.index.vector.queryNodes",
)
_LIMITS = ("db.memory.transaction.max", "db.transaction.timeout")
_LONGEST_WRITE_S = 3600.0
"""Maximum duration of a write, which may be a large batch: longer than scripts/neo4j sets for other queries."""
_START = "start it (scripts/neo4j start), or set NEO4J_URI to a running one"


@dataclass(frozen=True)
class Neo4jSettings:
    """Address and user of the server; the password is never shown."""

    uri: str
    username: str
    password: str = field(repr=False)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Neo4jSettings":
        """From NEO4J_URI, NEO4J_USERNAME, NEO4J_PASSWORD. ServiceUnavailable for an invalid URI."""
        uri = environment.get("NEO4J_URI") or "bolt://127.0.0.1:7687"
        parts = urlsplit(uri)
        if "@" in parts.netloc:
            raise ServiceUnavailable(
                "NEO4J_URI contains a user or password", "put them into NEO4J_USERNAME and NEO4J_PASSWORD"
            )
        if not re.fullmatch(r"(bolt|neo4j)(\+s|\+ssc)?", parts.scheme) or not parts.hostname:
            raise ServiceUnavailable(f"NEO4J_URI is {uri}", "name a server as bolt://127.0.0.1:7687 does")
        return cls(uri, environment.get("NEO4J_USERNAME") or "neo4j", environment.get("NEO4J_PASSWORD", ""))


def check_neo4j() -> None:
    """Raise an error if no index can be stored now: no driver, no server, refused, too old, no APOC. Changes
    nothing.
    """
    need("system-kg", "neo4j")
    settings = Neo4jSettings.from_environment()
    kernel = "CALL dbms.components() YIELD name, versions WHERE name = 'Neo4j Kernel' RETURN versions[0]"
    shown = "SHOW PROCEDURES YIELD name WHERE name IN $wanted RETURN name"
    with connected(settings) as driver:
        versions = rows_of(driver, kernel)
        procedures = rows_of(driver, shown, wanted=list(_PROCEDURES))
    check_fit(settings.uri, versions[0][0] if versions else "", [row[0] for row in procedures])


def check_limits() -> None:
    """Raise ServiceUnavailable if the server does not limit a statement's time and memory, or does not report its
    limits.
    """
    from neo4j import exceptions

    settings = Neo4jSettings.from_environment()
    query = f"SHOW SETTINGS {', '.join(map(repr, _LIMITS))} YIELD name, value RETURN name, value"
    with connected(settings) as driver:
        try:
            found = {row[0]: row[1] for row in rows_of(driver, query, limit_s=60.0)}
        except (exceptions.ServiceUnavailable, exceptions.SessionExpired, exceptions.AuthError):
            raise
        except exceptions.Neo4jError:
            found = {}
    check_limited(settings.uri, found)


def check_limited(uri: str, found: Mapping[str, str]) -> None:
    """The same for known server settings."""
    unset = [name for name in _LIMITS if re.fullmatch(r"0(\.0+)?\D*", found.get(name, "0"))]
    if unset:
        said = "sets no" if all(name in found for name in unset) else "does not show its"
        raise ServiceUnavailable(
            f"Neo4j at {uri} {said} {' and '.join(unset)}, so a statement of a model could stop it",
            "set them in its neo4j.conf (scripts/neo4j start does), or set answer.trust_server=true",
        )


def check_fit(uri: str, version: str, procedures: Collection[str]) -> None:
    """Raise ServiceUnavailable if a server of this version with these procedures cannot store an index."""
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None or (int(found[1]), int(found[2])) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise ServiceUnavailable(
            f"Neo4j at {uri} is version {version or 'unknown'}, older than {oldest}",
            "use 5.26 (scripts/neo4j start)",
        )
    missing = sorted(set(_PROCEDURES) - set(procedures))
    if any(name.startswith("apoc.") for name in missing):
        raise ServiceUnavailable(
            f"Neo4j at {uri} has no APOC",
            "put the APOC core jar of its version into its plugins folder (NEO4J_PLUGINS='[\"apoc\"]' in Docker), "
            "allow apoc.create.* and start it again",
        )
    if missing:
        raise ServiceUnavailable(f"Neo4j at {uri} does not offer {', '.join(missing)}", "allow these procedures")


def connect(settings: Neo4jSettings) -> "neo4j.Driver":
    """A driver that threads may share. It connects at the first query; the caller closes it."""
    import neo4j

    return neo4j.GraphDatabase.driver(
        settings.uri,
        # A server without authentication needs no password.
        auth=(settings.username, settings.password) if settings.password else None,
        connection_timeout=10,
        connection_acquisition_timeout=30,
        notifications_min_severity="OFF",
        telemetry_disabled=True,
    )


def rows_of(
    driver: "neo4j.Driver", query: str, *, write: bool = False, limit_s: float | None = None, **parameters: Any
) -> list[list[Any]]:
    """All rows of the result; `query` is one of our own texts, and untrusted values are parameters.

    Without `write` the server rejects writes. Each query commits separately, so it may work in batches, and is
    tried once, because a repeated batch would be stored twice. The server ends queries after `limit_s`, or after
    its own limit.
    """
    import neo4j

    if limit_s is None and write:
        limit_s = _LONGEST_WRITE_S

    with driver.session(default_access_mode="WRITE" if write else "READ") as session:
        return session.run(neo4j.Query(query, timeout=limit_s), parameters).values()


@contextmanager
def connected(settings: Neo4jSettings) -> "Iterator[neo4j.Driver]":
    """A driver for the block, whose errors are `explained`."""
    driver = connect(settings)
    try:
        with explained(settings):
            yield driver
    finally:
        driver.close()


@contextmanager
def explained(settings: Neo4jSettings) -> Iterator[None]:
    """Turn errors that the user can fix into one ServiceUnavailable line."""
    from neo4j import exceptions

    try:
        yield
    except (exceptions.AuthError, exceptions.TokenExpired) as error:
        said = "refuses the password" if settings.password else "wants a password"
        raise ServiceUnavailable(
            f"Neo4j at {settings.uri} {said} of {settings.username}",
            "set NEO4J_PASSWORD to the password that scripts/neo4j start printed first",
        ) from error
    except exceptions.ClientError as error:
        if error.code != "Neo.ClientError.Security.AuthenticationRateLimit":
            raise
        raise ServiceUnavailable(
            f"Neo4j at {settings.uri} was given too many wrong passwords", "wait five seconds, set NEO4J_PASSWORD"
        ) from error
    except (exceptions.ServiceUnavailable, exceptions.SessionExpired) as error:
        raise ServiceUnavailable(f"Neo4j at {settings.uri} does not answer", _START) from error
