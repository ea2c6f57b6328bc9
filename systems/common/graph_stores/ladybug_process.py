"""A process that answers statements on a Ladybug database, as lines of JSON. It imports as little as possible.

Ladybug plans statements in native code without time and memory limits, so the parent kills this process. Its own
alarm ends it if there is no parent.
"""

import json
import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

_MEMORY_BYTES = 1 << 28
"""Limit of pages in memory; the default is four fifths of the machine."""
_LOADING_MEMORY_BYTES = 1 << 30
_LARGEST_BYTES = 1 << 36
"""Reserved address space; the default, 8 TiB, is more than some machines allow a process."""
_WORKING_BYTES = 1 << 30
"""Memory that the process may use in addition to an open database."""
_LONGEST_ANSWER = 16_000_000
_ALARM_S = 5.0
"""Seconds after the time limit."""


def graph_database(path: Path, read_only: bool) -> Any:
    """The open database; any number of processes may read it, or one may write."""
    import ladybug

    return ladybug.Database(
        path,
        read_only=read_only,
        buffer_pool_size=_MEMORY_BYTES if read_only else _LOADING_MEMORY_BYTES,
        max_db_size=_LARGEST_BYTES,
    )


def rows_of(connection: Any, query: str, **parameters: Any) -> list[list[Any]]:
    """All rows of the result."""
    result = connection.execute(query, parameters)
    try:
        rows: list[list[Any]] = result.get_all()
        return rows
    finally:
        result.close()


def serve(path: Path, asked: TextIO, answers: TextIO) -> None:
    import ladybug

    connection = ladybug.Connection(graph_database(path, read_only=True), num_threads=1)
    _limit_memory()
    print(json.dumps({"rows": []}), file=answers, flush=True)
    for line in asked:
        request = json.loads(line)
        signal.setitimer(signal.ITIMER_REAL, request["limit_s"] + _ALARM_S)
        answer = json.dumps(_answered(connection, request), default=str)
        if len(answer) > _LONGEST_ANSWER:
            answer = json.dumps({"error": f"the answer has over {_LONGEST_ANSWER:,} characters: return less"})
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(answer, file=answers, flush=True)


def _answered(connection: Any, request: dict[str, Any]) -> dict[str, Any]:
    connection.set_query_timeout(max(1, round(1000 * request["limit_s"])))
    try:
        return {"rows": rows_of(connection, request["query"], **request["parameters"])}
    except (RuntimeError, MemoryError) as error:  # the library raises these for statements that it cannot answer
        return {"error": str(error) or "it needs too much memory: ask for less"}


def _limit_memory() -> None:
    """Limits the memory, on systems that support it (Linux)."""
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + _WORKING_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main() -> None:
    """`python -m ... DATABASE`: lines come from standard input and go to standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Library output must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(Path(sys.argv[1]), sys.stdin, answers)


if __name__ == "__main__":
    main()
