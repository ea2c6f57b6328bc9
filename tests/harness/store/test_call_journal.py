"""calls.sqlite: every answered call once, there again after any kind of death."""

import json
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from records import known

from harness.core.records import Usage
from harness.store import CallKey, Journal, StoredCall
from harness.store.asked_calls import latest_calls
from harness.store.call_journal import TOKENS, paid_by_runs

from .conftest import refusal

KEY = CallKey("answer/q1/0/1", "generator", "d" * 64, 0)


def stored(request: bytes = b'{"a": 1}', response: bytes = b"{}", usage: Usage | None = None) -> StoredCall:
    used = usage or Usage(calls=1, input_tokens=10, output_tokens=2, cached_tokens=3)
    return StoredCall("gpt", request, response, used, 0.25, "2026-01-01T00:00:00+00:00")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "calls.sqlite"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    with closing(Journal(path)) as opened:
        yield opened


@settings(deadline=None, max_examples=30)
@given(
    request=st.binary(),
    response=st.binary(max_size=5000),
    tokens=st.tuples(*[st.integers(0, 2**40)] * 3),
    unmetered=st.integers(0, 1),
)
def test_a_call_comes_back_to_the_byte_also_in_another_process_s_journal(
    tmp_path_factory: pytest.TempPathFactory,
    request: bytes,
    response: bytes,
    tokens: tuple[int, int, int],
    unmetered: int,
) -> None:
    path = tmp_path_factory.mktemp("journal") / "calls.sqlite"
    usage = Usage(calls=1, unmetered_calls=unmetered, **dict(zip(TOKENS, tokens, strict=True)))
    call = stored(request, response, usage)
    with closing(Journal(path)) as journal:
        journal.add(KEY, call)
        assert journal.find(KEY) == call
    with closing(Journal(path)) as reopened:
        assert reopened.find(KEY) == call


@pytest.mark.parametrize(
    "change", [{"scope": "answer/q1/0/2"}, {"role": "embedder"}, {"request_digest": "e" * 64}, {"occurrence": 1}]
)
def test_calls_differ_by_scope_role_request_and_occurrence(journal: Journal, change: dict[str, Any]) -> None:
    other = replace(KEY, **change)
    journal.add(KEY, stored(response=b"first"))
    assert journal.find(other) is None
    journal.add(other, stored(response=b"second"))
    assert [known(journal.find(key)).response for key in (KEY, other)] == [b"first", b"second"]


def test_the_first_of_two_equal_calls_is_kept_and_in_a_journal_of_one_run_the_second_is_a_bug(path: Path) -> None:
    with closing(Journal(path, payer="a")) as one, closing(Journal(path, payer="b", shared=True)) as other:
        one.add(KEY, stored(response=b"first"))
        with pytest.raises(sqlite3.IntegrityError):
            one.add(KEY, stored(response=b"second"))
        other.add(KEY, stored(response=b"second"))
        found = known(other.find(KEY))
    assert (found.response, found.paid_by) == (b"first", "a")


def test_a_committed_call_survives_kill_9_of_its_process(path: Path) -> None:
    code = """
import os, signal, sys
from pathlib import Path
from harness.core.records import Usage
from harness.store import CallKey, Journal, StoredCall
journal = Journal(Path(sys.argv[1]))
for n in range(5):
    journal.add(CallKey("index", "generator", "d", n), StoredCall("m", b"q", b"a%d" % n, Usage(calls=1), 0.1, "t"))
os.kill(os.getpid(), signal.SIGKILL)
"""
    killed = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert killed.returncode == -9
    with closing(Journal(path)) as journal:
        found = [journal.find(CallKey("index", "generator", "d", n)) for n in range(6)]
    assert [call and call.response for call in found] == [b"a0", b"a1", b"a2", b"a3", b"a4", None]


# Damage


def test_a_damaged_database_or_a_place_that_cannot_be_used_is_one_line(path: Path) -> None:
    path.parent.mkdir()
    for content in (b"this is no database, " * 100, b"SQLite format 3\x00" + b"\xff" * 4096):
        path.write_bytes(content)
        for use in (Journal, paid_by_runs):
            line = refusal(lambda use=use: use(path))  # type: ignore[misc]
            assert line.startswith(f"{path} is damaged (")
            assert line.endswith("or delete it and pay for its calls again")
    below = path / "deep" / "calls.sqlite"
    assert refusal(lambda: Journal(below)).startswith(f"cannot use {below} (")
    path.unlink()
    # Pages overwritten in the middle.
    with closing(Journal(path)) as journal:
        for n in range(200):
            journal.add(CallKey("index", "generator", f"{n:064}", 0), stored(response=bytes(range(256)) * 9))
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\x5a" * (len(whole) - 4096))
    with closing(Journal(path)) as journal:
        line = refusal(lambda: [journal.find(CallKey("index", "generator", f"{n:064}", 0)) for n in range(200)])
    assert "is damaged" in line
    assert "is damaged" in refusal(lambda: paid_by_runs(path))


def change(path: Path, setting: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"UPDATE calls SET {setting}", values)
        db.commit()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("response = ?", b"\x00\x11\x22\x33"),
        ("response = ?", zlib.compress(b'{"another": "answer"}')),
        ("model = ?", "another"),
        ("wall_s = ?", 99.0),
        ("paid_by = ?", "another run"),
        ("cached_tokens = ?", "three"),
        ("row_check = ?", 1),
    ],
)
def test_a_damaged_call_is_reported_and_made_again_and_its_cost_stays_paid(
    path: Path, setting: str, value: object
) -> None:
    with closing(Journal(path, payer="r")) as journal:
        journal.add(KEY, stored(response=b"as it was"))
    change(path, setting, value)
    told: list[str] = []
    with closing(Journal(path, payer="r", shared=value == 1, tell=told.append)) as journal:
        assert journal.find(KEY) is None
        assert told == [f"{path}: a damaged call (generator, answer/q1/0/1) is made again"]
        assert sum(usage.input_tokens for _, _, usage in journal.paid()) == 10
        journal.add(KEY, stored(response=b"anew"))
        assert known(journal.find(KEY)).response == b"anew"
        assert sum(usage.input_tokens for _, _, usage in journal.paid()) == 20
    assert len(told) == 1


@pytest.mark.parametrize("tokens", ["many", -5, 2.5, 10**10])
def test_impossible_tokens_of_a_damaged_call_are_not_counted(path: Path, tokens: object) -> None:
    with closing(Journal(path)) as journal:
        journal.add(KEY, stored())
    change(path, "input_tokens = ?", tokens)
    with closing(Journal(path)) as journal:
        assert journal.find(KEY) is None
        assert journal.paid() == []
        journal.add(KEY, stored())
    change(path, "response = x'00', input_tokens = ?", 2.5)
    assert "is damaged (invalid token counts)" in refusal(lambda: paid_by_runs(path))


# What was paid


@pytest.mark.parametrize(
    ("setting", "value", "counted"),
    [
        # The damage may be in the tokens: a token is a byte at least.
        ("input_tokens = ?", 1, (300, 80)),
        ("input_tokens = ?", "many", (300, 80)),
        ("wall_s = ?", 99.0, (300, 80)),
        # It is in the texts: the tokens are what they were.
        ("request = ?", zlib.compress(b"q" * 300)[:-3], (10, 2)),
        ("response = ?", "text", (10, 2)),
    ],
)
def test_a_damaged_call_counts_with_at_least_the_tokens_that_it_took(
    path: Path, setting: str, value: object, counted: tuple[int, int]
) -> None:
    with closing(Journal(path, payer="r")) as journal:
        journal.add(KEY, stored(request=b"q" * 300, response=b"r" * 80))
    change(path, setting, value)
    told: list[str] = []
    paid = paid_by_runs(path, told.append)["r", "generator"]
    assert (paid.calls, paid.input_tokens, paid.output_tokens) == (1, *counted)
    assert told == [f"{path}: damaged calls: 1; their tokens are counted as the largest possible number"]


def test_calls_and_reservations_are_summed_by_run_and_role_and_faults_are_not(path: Path) -> None:
    told: list[str] = []
    fault = ("index", "generator", "HTTP 429", 1.5)
    for payer in ("one", "other"):
        with closing(Journal(path, payer=payer, shared=True, tell=told.append)) as journal:
            journal.add_fault("2026-01-01T00:00:00+00:00", *fault)
            for n in range(3):
                journal.add(CallKey(payer, "generator", "d", n), stored())
            journal.reserve("generator", Usage(input_tokens=100, output_tokens=7))
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT scope, role, reason, waited_s FROM faults").fetchall() == [fault, fault]
    paid = paid_by_runs(path, told.append)
    expected = Usage(calls=3, input_tokens=130, output_tokens=13, cached_tokens=9)
    assert paid == {("one", "generator"): expected, ("other", "generator"): expected}
    assert told == []


# What a journal says of the calls that were made.


def write_journal(path: Path, requests: list[bytes]) -> None:
    with closing(Journal(path, payer="demo--naive--1")) as journal:
        for number, request in enumerate(requests):
            usage = Usage(calls=1, input_tokens=10 + number, output_tokens=2, cached_tokens=1)
            call = StoredCall("m", request, b"{}", usage, 1.5, f"2026-11-20T10:00:{number:02d}+00:00")
            journal.add(CallKey(f"answer/q{number}/0/1", "generator", f"{number}", 0), call)


def request(text: object, **rest: object) -> bytes:
    messages = [{"role": "system", "content": "ab"}, {"role": "user", "content": text}]
    return json.dumps({"messages": messages, **rest}).encode()


def test_the_latest_calls_have_their_prompts_and_limits_and_other_requests_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "calls.sqlite"
    odd = [b"not json", b"[]", b'{"input": ["a"]}', b'{"messages": [7]}', request("x" * (1 << 22))]
    fine = [request("cdé", max_tokens=64), request([{"type": "text", "text": "four"}])]
    write_journal(path, [*odd, *fine])
    before = sorted(tmp_path.iterdir())
    latest, first = latest_calls(path)
    assert sorted(tmp_path.iterdir()) == before, "reading changes nothing"
    assert (first.characters, first.max_tokens) == (5, 64)
    assert (latest.characters, latest.max_tokens) == (6, 0)
    assert (latest.input_tokens, latest.output_tokens, latest.cached_tokens) == (16, 2, 1)
    assert latest.started_s - first.started_s == 1
    assert first.paid_by == "demo--naive--1"
    assert [call.scope for call in latest_calls(path, 1)] == ["answer/q6/0/1"]
    # While another process writes.
    with closing(Journal(path)) as writing:
        call = StoredCall("m", request("y"), b"{}", Usage(calls=1), 1.0, "2026-11-21T10:00:00+00:00")
        writing.add(CallKey("answer/later/0/1", "generator", "later", 0), call)
        assert len(latest_calls(path)) == 3


def test_a_missing_or_broken_journal_has_no_calls_and_a_damaged_call_is_skipped(tmp_path: Path) -> None:
    assert latest_calls(tmp_path / "none.sqlite") == []
    assert not (tmp_path / "none.sqlite").exists()
    (tmp_path / "broken.sqlite").write_bytes(b"not a database at all" * 50)
    assert latest_calls(tmp_path / "broken.sqlite") == []
    path = tmp_path / "calls.sqlite"
    damages = ["input_tokens = 'many'", "cached_tokens = 1.5", "wall_s = 'long'", "started_at = '0001-01-01'"]
    write_journal(path, [request("x")] * (len(damages) + 1))
    with closing(sqlite3.connect(path)) as db, db:
        for number, damage in enumerate(damages):
            db.execute(f"UPDATE calls SET {damage} WHERE scope = 'answer/q{number}/0/1'")
    assert [call.scope for call in latest_calls(path)] == [f"answer/q{len(damages)}/0/1"]
