"""What servers say about usage, errors and waiting, whatever shape they say it in."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core.proxies import retry_after_s
from harness.core.records import Usage
from harness.models.model_endpoint import read_error
from harness.models.reply_parsing import read_usage

NOW = datetime(2026, 5, 4, 12, 0, 0, tzinfo=UTC)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["usage", "error", "message", "code", "prompt_tokens", "prompt_tokens_details", "cached_tokens"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("0", 0.0),
        ("12", 12.0),
        ("1.5", 1.5),
        (" 3 ", 3.0),
        ("-5", 0.0),
        ("soon", None),
        ("inf", None),
        ("nan", None),
        ("1e999", None),
        ("12 seconds", None),
        (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90.0),
        (format_datetime(NOW - timedelta(seconds=90), usegmt=True), 0.0),
        ("Mon, 04 May 2026 14:00:10 +0200", 10.0),
        ("Mon, 04 May 2026 12:00:10 -0000", None),
        ("Mon, 99 May 2026 12:00:10 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_or_nothing(header: str | None, seconds: float | None) -> None:
    assert retry_after_s(header, lambda: NOW) == seconds


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        (
            {"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 5}},
            Usage(calls=1, input_tokens=7, output_tokens=2, cached_tokens=5),
        ),
        ({"prompt_tokens": 7, "total_tokens": 7}, Usage(calls=1, input_tokens=7)),
        (
            {"prompt_tokens": 7, "completion_tokens": None, "prompt_tokens_details": None},
            Usage(calls=1, input_tokens=7),
        ),
        (
            {"prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": None}},
            Usage(calls=1, input_tokens=7),
        ),
        ({"prompt_tokens": 10**9, "completion_tokens": 0}, Usage(calls=1, input_tokens=10**9)),
        ({"completion_tokens": 2}, Usage(calls=1, unmetered_calls=1)),
        ({"prompt_tokens": None, "completion_tokens": 2}, Usage(calls=1, unmetered_calls=1)),
        ({"prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": 8}}, Usage(calls=1, unmetered_calls=1)),
        ({"prompt_tokens": float("inf")}, Usage(calls=1, unmetered_calls=1)),
        ({"prompt_tokens": float("nan")}, Usage(calls=1, unmetered_calls=1)),
        ({}, Usage(calls=1, unmetered_calls=1)),
        (None, Usage(calls=1, unmetered_calls=1)),
        ("many", Usage(calls=1, unmetered_calls=1)),
    ],
)
def test_usage_is_what_the_server_counted_or_an_unmetered_call(usage: object, read: Usage) -> None:
    assert read_usage(json.dumps({"usage": usage}).encode()) == read


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ({"error": {"message": "no such model", "code": "model_not_found"}}, ("no such model", "model_not_found")),
        ({"error": {"message": "two\nlines", "code": 404}}, ("two lines", "404")),
        ({"error": "just text"}, ("just text", "")),
        ({"detail": "FastAPI's own"}, ('{"detail": "FastAPI\'s own"}', "")),
        ({"error": {"type": "no message"}}, ('{"error": {"type": "no message"}}', "")),
        (["a", "list"], ('["a", "list"]', "")),
    ],
)
def test_an_error_body_of_any_shape_becomes_a_message_and_a_code(body: Any, read: tuple[str, str]) -> None:
    assert read_error(json.dumps(body).encode()) == read


def test_an_error_page_is_one_line_of_at_most_200_characters() -> None:
    message, code = read_error(b"<html>\n<body>Bad gateway</body>\xff</html>\n" * 50)
    assert message.startswith("<html> <body>Bad gateway</body>")
    assert len(message) == 200
    assert code == ""


@settings(deadline=None)
@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
def test_no_body_at_all_breaks_the_reading(body: bytes) -> None:
    usage = read_usage(body)
    assert usage.calls == 1
    message, _ = read_error(body)
    assert len(message) <= 200
    assert len(message.splitlines()) <= 1
