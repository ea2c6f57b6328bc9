"""A server that says the keys it was given: none of them is in what the call context hands on, keeps or raises."""

import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from echoing_server import WAYS, EchoingServer, files_with_keys, keys_in, serve_echoes

from harness.models.clients import OpenAIChat
from harness.models.metering import Meter, metered
from harness.models.transport import CallContext
from harness.protocols import Message

Connect = Callable[..., OpenAIChat]
KEYS = {"GENERATOR_KEY": "sk-gen+Tq7/Zp0==9c1Lk", "JUDGE_KEY": 'pk_"Jq\\5<Vw8%Xy2&Nm4'}


@pytest.fixture
def echoing() -> Iterator[EchoingServer]:
    yield from serve_echoes()


@pytest.mark.parametrize("way", WAYS)
async def test_no_key_comes_back_from_a_server(
    way: str,
    echoing: EchoingServer,
    connect: Connect,
    open_seam: Callable[[], CallContext],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    echoing.way = way
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)
    seen = []
    for role_of in KEYS:
        chat = connect(echoing.base_url, open_seam(), api_key_env=role_of)
        try:
            with metered(Meter(f"answer/{role_of}/0/1")):
                seen.append(await chat.complete([Message("user", role_of)]))
        except Exception:
            seen.append(traceback.format_exc())
    assert echoing.heard == list(KEYS.values())
    assert keys_in("".join(seen).encode(), list(KEYS.values())) == []
    assert files_with_keys(tmp_path, list(KEYS.values())) == []
