"""The speed of models on this machine, kept in the user's cache folder: measured by two short calls before an
estimate, or by the calls of a run.

Only models that cost nothing are called: those of this process, llama.cpp's, and Ollama's on loopback.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from harness.config import EmbedderConfig, GeneratorConfig, ModelConfig
from harness.core.errors import HarnessError
from harness.core.hashing import digest
from harness.core.proxies import is_this_machine
from harness.core.records import Range
from harness.llm_utils.concurrency import run_to_end
from harness.models.model_endpoint import model_identity, server_digests
from harness.models.providers import api_key, provider_of
from harness.models.weights import cache_dir
from harness.protocols import Message
from harness.runner.machine_info import describe_machine
from harness.statistics.estimate import PASSAGE_CHARACTERS, measured_range
from harness.store import atomic_files
from harness.store.asked_calls import AskedCall

_VALID_S = 24 * 3600.0
"""A stored speed is measured again after a day: a machine may be busy."""
_LONGEST_S = 60.0
_N_WORDS, _N_WRITTEN, _N_PASSAGES = 120, 24, 8
_SPEEDS = ("prompt_tokens_per_s", "completion_tokens_per_s", "passages_per_s")
_FEWEST_CALLS = 3
"""Calls of a run from which on they replace a calibration."""


class ModelSpeed(BaseModel):
    """Speed of one model. None: not measured, or another kind of model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt_tokens_per_s: float | None = None
    completion_tokens_per_s: float | None = None
    passages_per_s: float | None = None
    """Passages of 1,000 characters."""
    load_s: float = 0.0
    best: dict[str, float] = {}
    """The highest value of each speed that was measured here: at the last one, the machine may have been busy."""

    def range_of(self, speed: str) -> Range | None:
        """Around the last measurement, up to the best one; None: not measured."""
        last: float | None = getattr(self, speed)
        if not last:
            return None
        around = measured_range(last, is_speed=True)
        return Range(low=around.low, high=max(around.high, self.best.get(speed, 0.0)))


def is_free(config: ModelConfig) -> bool:
    """Whether its calls certainly cost nothing. A server on loopback that is not Ollama's may forward to a paid
    model, and so does Ollama for names that end in `cloud`.
    """
    if config.provider != "ollama":
        return provider_of(config).is_here
    host = urlsplit(str(config.base_url)).hostname or ""
    return is_this_machine(host) and not str(config.model).endswith("cloud")


def stored_speed(config: ModelConfig) -> ModelSpeed | None:
    """The speed of a model as last measured on this machine; None if it was not, or the file is damaged."""
    path = _path(config)
    try:
        return atomic_files.read_json(path, ModelSpeed) if path.is_file() else None
    except HarnessError:
        return None


def calibrate(config: ModelConfig, say: Callable[[str], None] = lambda _: None) -> str:
    """Measure the speed of a free model whose weights are here, unless done today. Returns why that failed."""
    path = _path(config)
    if path.is_file() and time.time() - path.stat().st_mtime < _VALID_S and stored_speed(config):
        return ""
    is_download = config.provider == "sentence-transformers" and not Path(str(config.model)).is_dir()
    if not is_free(config) or is_download:
        return ""
    import httpx2

    say(f"measuring the speed of {config.label} ...")
    try:
        with tempfile.TemporaryDirectory() as logs:
            speed = _speed(config, Path(logs))
    except (HarnessError, OSError, ValueError, KeyError, TypeError, httpx2.HTTPError) as error:
        reason = error.what if isinstance(error, HarnessError) else f"{type(error).__name__} {error}"
        return f"{config.label} was not calibrated ({' '.join(reason.split())[:200]})"
    _keep(config, speed)
    return ""


def keep_measured(config: ModelConfig, calls: Iterable[AskedCall]) -> None:
    """Store the speed that a run measured, if its server reports the seconds of prompts and replies."""
    timed = [call for call in calls if call.prompt_s and call.completion_s]
    if len(timed) < _FEWEST_CALLS or not is_free(config):
        return
    prompt_s, completion_s = sum(call.prompt_s for call in timed), sum(call.completion_s for call in timed)
    speed = ModelSpeed(
        prompt_tokens_per_s=sum(call.fresh_tokens for call in timed) / prompt_s,
        completion_tokens_per_s=sum(call.output_tokens for call in timed) / completion_s,
        load_s=(stored_speed(config) or ModelSpeed()).load_s,
    )
    _keep(config, speed)


def _keep(config: ModelConfig, speed: ModelSpeed) -> None:
    earlier, best = stored_speed(config) or ModelSpeed(), dict[str, float]()
    for name in _SPEEDS:
        known = (getattr(speed, name), getattr(earlier, name), earlier.best.get(name))
        if found := [value for value in known if value]:
            best[name] = max(found)
    atomic_files.write_json(_path(config), speed.model_copy(update={"best": best}))


def _path(config: ModelConfig) -> Path:
    machine = {key: value for key, value in describe_machine().items() if key in {"processor", "cores"}}
    role = "embedder" if isinstance(config, EmbedderConfig) else "generator"
    server = server_digests({role: model_identity(config)})
    return cache_dir() / "speed" / f"{digest({'machine': machine, 'model': server})[:16]}.json"


def _speed(config: ModelConfig, logs: Path) -> ModelSpeed:
    if isinstance(config, GeneratorConfig):
        from harness.models.clients import NO_URL

        serve, began = provider_of(config).serve, time.monotonic()
        with serve(config, logs / "server.log") if serve else nullcontext() as server:
            url = (server.base_url if server else config.base_url) or NO_URL
            key = server.access.api_key if server else api_key(config)
            return run_to_end(lambda: _chat_speed(config, url, key, began))
    assert isinstance(config, EmbedderConfig)  # noqa: S101 - a model of either kind
    return run_to_end(lambda: _embedder_speed(config))


async def _chat_speed(config: GeneratorConfig, url: str, key: str, began: float) -> ModelSpeed:
    """A first call loads the model; then a long prompt with the shortest reply, and a short one with a long."""
    import httpx2

    from harness.models.clients import chat_request
    from harness.models.probe import random_words

    async def ask(text: str, max_tokens: int) -> tuple[float, int, int]:
        since = time.monotonic()
        body = chat_request(config, (Message("user", text),), max_tokens)
        response = await client.post(f"{url}/chat/completions", json=body, headers=headers)
        response.raise_for_status()
        usage: Any = response.json()["usage"]
        cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
        fresh = int(usage["prompt_tokens"]) - int(cached)
        return max(time.monotonic() - since, 1e-6), max(fresh, 1), max(int(usage["completion_tokens"]), 1)

    headers = {"Authorization": f"Bearer {key}"}
    transport = provider_of(config).transport(config)
    async with (
        asyncio.timeout(_LONGEST_S),
        httpx2.AsyncClient(transport=transport, timeout=_LONGEST_S) as client,
    ):
        await ask("Say yes.", 1)
        load_s = time.monotonic() - began
        read_s, read, _ = await ask(f"Ignore these words: {random_words(_N_WORDS)}. Say yes.", 1)
        total_s, again, written = await ask("Write a long story about a river.", _N_WRITTEN)
    prompt_per_s = read / read_s
    return ModelSpeed(
        prompt_tokens_per_s=prompt_per_s,
        completion_tokens_per_s=written / max(total_s - again / prompt_per_s, 0.1 * total_s),
        load_s=load_s,
    )


async def _embedder_speed(config: EmbedderConfig) -> ModelSpeed:
    from harness.models.probe import random_words

    encoder, began = provider_of(config).encoder, time.monotonic()
    if encoder is None:
        # Its transport may be a server's; its speed is a default.
        return ModelSpeed()
    model = encoder(config)
    await model.embed(["yes"])
    load_s, since = time.monotonic() - began, time.monotonic()
    await model.embed([random_words(PASSAGE_CHARACTERS // 6) for _ in range(_N_PASSAGES)])
    return ModelSpeed(passages_per_s=_N_PASSAGES / max(time.monotonic() - since, 1e-6), load_s=load_s)
