"""Statistics of calls in a journal: lengths of prompts and replies, and durations."""

import json
import operator
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from harness.core.records import Usage
from harness.store.atomic_files import open_to_read
from harness.store.call_journal import ALL_CALLS, COLUMNS, TOKENS, unpacked
from harness.store.checksums import row_check

PREFLIGHT = "preflight"
"""Scope of calls that only test whether a model answers; excluded, because their lengths are not typical."""
LATEST = 500
"""Most calls read from one journal; enough for estimates."""
_LONGEST_REQUEST = 1 << 22
"""Longest request in bytes; longer ones are skipped."""
_TELLING = f"scope NOT LIKE '{PREFLIGHT}/%'"
_LATEST = f"{ALL_CALLS} WHERE metered = 1 AND {_TELLING} ORDER BY started_at DESC LIMIT ?"


@dataclass(frozen=True)
class TimedCall:
    """A call of any model, without its texts."""

    scope: str
    role: str
    model: str
    usage: Usage
    started_at: str
    wall_s: float


@dataclass(frozen=True)
class AskedCall:
    """A call of a chat model."""

    scope: str
    role: str
    model: str
    characters: int
    """Length of the prompt, all messages together."""
    max_tokens: int
    """Limit of the reply; 0 if the request set none."""
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    started_s: float
    """Time of the request in seconds since 1970; it may have waited after that."""
    wall_s: float
    paid_by: str
    fresh_tokens: int = 0
    """Prompt tokens that the server read in `prompt_s`, the rest being cached; 0 if it reports no seconds."""
    prompt_s: float = 0.0
    completion_s: float = 0.0


def latest_calls(path: Path, most: int = LATEST) -> list[AskedCall]:
    """The chat calls among the latest `most` metered calls; empty if the journal is missing or unreadable.

    Read-only, also while a run writes. Damaged rows are skipped, because the result is only used for estimates.
    """
    return list(_asked(_calls(path, _LATEST, (most,))))


def timed_calls(path: Path) -> list[TimedCall]:
    """All calls in a journal by time; empty if it is missing or unreadable. Damaged rows are skipped."""
    found = []
    for call in _calls(path, ALL_CALLS):
        with suppress(ValueError, TypeError):
            tokens = {name: operator.index(call[name]) for name in TOKENS}
            usage = Usage(calls=1, unmetered_calls=int(not call["metered"]), **tokens)
            scope, role, model, started_at = (str(call[name]) for name in ("scope", "role", "model", "started_at"))
            found.append(TimedCall(scope, role, model, usage, started_at, float(call["wall_s"])))
    return sorted(found, key=lambda call: call.started_at)


def count_calls(path: Path) -> int | None:
    """The number of all calls in a journal; 0 if it is missing, None if it cannot be read."""
    found = list(_rows(path, "SELECT COUNT(*) FROM calls")) if path.is_file() else [(0,)]
    return int(found[0][0]) if found else None


def count_paid_calls(path: Path, role: str, payers: Sequence[str]) -> int:
    """The number of calls of a role in a journal that these runs paid."""
    marks = ",".join("?" * len(payers))
    query = f"SELECT COUNT(*) FROM calls WHERE role = ? AND paid_by IN ({marks}) AND {_TELLING}"  # noqa: S608
    found = list(_rows(path, query, (role, *payers)))
    return int(found[0][0]) if found else 0


def _calls(path: Path, query: str, values: tuple[object, ...] = ()) -> Iterator[dict[str, Any]]:
    """The undamaged calls, by column."""
    for *found, check in _rows(path, query, values):
        if check == row_check(found):
            yield dict(zip(COLUMNS, found, strict=True))


def _rows(path: Path, query: str, values: tuple[object, ...] = ()) -> Iterator[Any]:
    try:
        with closing(open_to_read(path)) as db:
            yield from db.execute(query, values)
    except sqlite3.Error:
        return


def _asked(calls: Iterable[dict[str, Any]]) -> Iterator[AskedCall]:
    for call in calls:
        try:
            request = json.loads(unpacked(call["request"], _LONGEST_REQUEST))
            characters = sum(_characters(message) for message in request["messages"])
            limit = int(request.get("max_tokens") or 0)
            started_s = datetime.fromisoformat(call["started_at"]).timestamp()
            own = {name: call[name] for name in ("scope", "role", "model", "paid_by")}
            own |= {name: operator.index(call[name]) for name in TOKENS} | {"wall_s": float(call["wall_s"])}
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, zlib.error, RecursionError):
            continue
        timings: dict[str, Any] = {}
        with suppress(ValueError, TypeError, zlib.error):
            timings = engine_timings(unpacked(call["response"], _LONGEST_REQUEST))
        yield AskedCall(**own, **timings, characters=characters, max_tokens=limit, started_s=started_s)


def engine_timings(response: bytes) -> dict[str, Any]:
    """What llama.cpp's server reports with a reply: the last three fields of an `AskedCall`. Empty for others."""
    try:
        timings = json.loads(response)["timings"]
        milliseconds = [float(timings[f"{part}_ms"]) for part in ("prompt", "predicted")]
        fresh = operator.index(timings["prompt_n"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    if fresh < 1 or not all(0 < value < 1e9 for value in milliseconds):
        return {}
    return {"fresh_tokens": fresh, "prompt_s": milliseconds[0] / 1000, "completion_s": milliseconds[1] / 1000}


def _characters(message: Any) -> int:
    """Characters of a message, whose content is a text or a list of parts."""
    content = message["content"]
    if isinstance(content, str):
        return len(content)
    return sum(len(part.get("text", "")) for part in content)
