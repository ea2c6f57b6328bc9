"""What a journal says of the calls that were made."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from harness.core.records import Usage
from harness.store import CallKey, Journal, StoredCall
from harness.store.asked_calls import latest_calls


def journal(path: Path, requests: list[bytes]) -> None:
    kept = Journal(path, payer="demo--naive--1")
    for number, request in enumerate(requests):
        usage = Usage(calls=1, input_tokens=10 + number, output_tokens=2, cached_tokens=1)
        started = f"2026-11-20T10:00:{number:02d}+00:00"
        call = StoredCall("m", request, b"{}", usage, 1.5, started)
        kept.add(CallKey(f"answer/q{number}/0/1", "generator", f"{number}", 0), call)
    kept.close()


def request(text: object, **rest: object) -> bytes:
    messages = [{"role": "system", "content": "ab"}, {"role": "user", "content": text}]
    return json.dumps({"messages": messages, **rest}).encode()


def test_a_call_has_its_prompt_and_its_limit_and_the_latest_come_first(tmp_path: Path) -> None:
    path = tmp_path / "calls.sqlite"
    journal(path, [request("cdé", max_tokens=64), request([{"type": "text", "text": "four"}])])
    latest, first = latest_calls(path)
    assert (first.characters, first.max_tokens) == (5, 64)
    assert (latest.characters, latest.max_tokens) == (6, 0)
    assert (latest.input_tokens, latest.output_tokens, latest.cached_tokens) == (11, 2, 1)
    assert latest.started_s - first.started_s == 1
    assert first.paid_by == "demo--naive--1"


def test_no_more_than_the_latest_are_read(tmp_path: Path) -> None:
    path = tmp_path / "calls.sqlite"
    journal(path, [request("x") for _ in range(5)])
    assert [call.scope for call in latest_calls(path, 2)] == ["answer/q4/0/1", "answer/q3/0/1"]


def test_what_is_no_chat_request_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "calls.sqlite"
    odd = [b"not json", b"[]", b'{"input": ["a"]}', b'{"messages": [7]}', request("x" * (1 << 22))]
    journal(path, [*odd, request("fine")])
    assert [call.characters for call in latest_calls(path)] == [6]


def test_a_journal_that_is_absent_or_no_database_has_no_calls(tmp_path: Path) -> None:
    assert latest_calls(tmp_path / "none.sqlite") == []
    assert not (tmp_path / "none.sqlite").exists()
    (tmp_path / "broken.sqlite").write_bytes(b"not a database at all" * 50)
    assert latest_calls(tmp_path / "broken.sqlite") == []


def test_reading_leaves_the_folder_as_it_was_also_while_a_run_writes(tmp_path: Path) -> None:
    path = tmp_path / "calls.sqlite"
    journal(path, [request("x")])
    before = sorted(tmp_path.iterdir())
    assert len(latest_calls(path)) == 1
    assert sorted(tmp_path.iterdir()) == before
    writing = Journal(path)
    usage = Usage(calls=1, input_tokens=1)
    call = StoredCall("m", request("y"), b"{}", usage, 1.0, "2026-11-21T10:00:00+00:00")
    writing.add(CallKey("answer/later/0/1", "generator", "later", 0), call)
    assert len(latest_calls(path)) == 2
    writing.close()


@pytest.mark.parametrize(
    "damage", ["input_tokens = 'many'", "cached_tokens = 1.5", "wall_s = 'long'", "started_at = '0001-01-01'"]
)
def test_a_call_that_cannot_have_been_is_passed_over(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "calls.sqlite"
    journal(path, [request("x"), request("y")])
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"UPDATE calls SET {damage} WHERE scope = 'answer/q0/0/1'")
    assert [call.scope for call in latest_calls(path)] == ["answer/q1/0/1"]
