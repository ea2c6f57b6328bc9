"""Keys of every role, a server that says all that it was given, and every place where they could end up."""

from collections.abc import Iterator

import pytest
from command_line import SMOKE, CommandLineHere
from echoing_server import EchoingServer, files_with_keys, keys_in, serve_echoes

pytestmark = pytest.mark.slow
ROLES = ("generator", "embedder", "judge", "judge_embedder")
KEYS = {
    **{f"{role.upper()}_OF_MINE": f"sk-{role}+Hq7/Zp0==9c1Lk" for role in ROLES},
    "NEO4J_PASSWORD": "the-graph's pass/word+1",
}

WAYS_OF_RUNS = {"answer": "answer, kg, rag_eval", "refused": "answer, rag_eval", "header": "answer"}
"""How the server says them -> what is scored: every answer holds them; every call fails; the run is stopped."""


@pytest.fixture
def echoing() -> Iterator[EchoingServer]:
    yield from serve_echoes()


def words_for(echoing: EchoingServer) -> list[str]:
    words = ["-c", str(SMOKE), "--quiet", "--set", "dataset.sample.per_type=1"]
    for role in ROLES:
        model = {"provider": "openai-compatible", "model": "m", "base_url": echoing.base_url, "max_retries": 0}
        for key, value in {**model, "api_key_env": f"{role.upper()}_OF_MINE"}.items():
            words += ["--set", f"models.{role}.{key}={value}"]
    return words


def test_no_key_of_any_role_is_in_a_file_or_on_the_terminal(here: CommandLineHere, echoing: EchoingServer) -> None:
    here.env |= KEYS
    words, echoing.embeds = words_for(echoing), True
    done = []
    for seed, (way, evaluators) in enumerate(WAYS_OF_RUNS.items()):
        echoing.way = way
        done.append(here.call("run", *words, "--set", f"seed={seed}", "--set", f"evaluators=[{evaluators}]"))
    assert [one.returncode for one in done] == [3, 3, 2], done
    assert sorted(echoing.heard) == sorted(set(KEYS.values()) - {KEYS["NEO4J_PASSWORD"]})
    assert keys_in("".join(one.stdout + one.stderr for one in done).encode(), list(KEYS.values())) == []
    assert files_with_keys(here.folder, list(KEYS.values())) == []
