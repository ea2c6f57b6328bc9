"""Texts that are read here and elsewhere: each is in its place, whoever reads it and whoever is lost."""

import asyncio
from collections.abc import Sequence

import pytest

from harness.core.errors import ConfigError
from harness.core.records import Triplet
from harness.extraction import remote_extraction
from harness.extraction.entity_names import entity_id
from harness.extraction.nlp_found import FoundLine, TextFinds
from harness.extraction.remote_extraction import SharedReading, TextsRead, TextsToRead
from harness.extraction.types import FoundEntity

ASKED = TextsToRead(pipeline="p", digest="d", every_phrase=False, texts=())
TEXTS = [f"text {number}" for number in range(23)]


def found_in(text: str) -> TextFinds:
    said = Triplet(text, "is", "a text")
    entity = FoundEntity(text, "Thing")
    return TextFinds(entities={entity: None}, others={entity_id(text): entity}, statements={said: None})


class RemoteScoring:
    """Reads every batch but those of which `lost` says so; some come late."""

    def __init__(self, n: int, lost: Sequence[int] = (), late_s: float = 0.0) -> None:
        self.n, self.batches, self.has_left = n, list[tuple[str, ...]](), False
        self._lost, self._late_s = lost, late_s

    async def read(self, asked: TextsToRead) -> TextsRead | None:
        self.batches.append(asked.texts)
        number = len(self.batches)
        await asyncio.sleep(self._late_s)
        if number in self._lost:
            return None
        return TextsRead(found=tuple(FoundLine.of(found_in(text)) for text in asked.texts), cpu_s=0.0)

    async def leave(self) -> None:
        self.has_left = True


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_extraction, "BATCH", 2)
    monkeypatch.setattr(remote_extraction, "_AGAIN_S", 0.001)


async def shared(readers: RemoteScoring) -> tuple[list[TextFinds], list[str], list[int]]:
    """What was found, what was read here, and how many texts were told to be read after each batch."""
    here: list[str] = []
    told: list[int] = []

    async def read(texts: Sequence[str]) -> list[TextFinds]:
        await asyncio.sleep(0.002)
        here.extend(texts)
        return list(map(found_in, texts))

    found = await SharedReading(TEXTS, ASKED, told.append).found(read, readers)
    return found, here, told


@pytest.mark.parametrize(
    "readers",
    [
        RemoteScoring(3),
        RemoteScoring(0),
        RemoteScoring(3, range(1, 100)),
        RemoteScoring(3, (1, 3)),
        RemoteScoring(2, late_s=60.0),
    ],
)
async def test_every_text_is_read_once_in_its_place_whatever_becomes_of_others(readers: RemoteScoring) -> None:
    async with asyncio.timeout(10):
        found, _, told = await shared(readers)
    assert found == list(map(found_in, TEXTS))
    assert told == sorted(told)
    assert told[-1] == len(TEXTS)
    assert readers.has_left


async def test_what_others_read_is_not_read_here() -> None:
    readers = RemoteScoring(3, late_s=0.001)
    _, here, _ = await shared(readers)
    assert readers.batches
    assert len(here) < len(TEXTS)
    assert here[:2] == TEXTS[:2]


async def test_what_ends_the_reading_here_ends_it_there_and_is_raised_as_it_is() -> None:
    readers = RemoteScoring(3, late_s=60.0)

    async def read(_: Sequence[str]) -> list[TextFinds]:
        await asyncio.sleep(0.002)
        raise ConfigError("no pipeline", "install it")

    with pytest.raises(ConfigError, match="no pipeline"):
        async with asyncio.timeout(10):
            await SharedReading(TEXTS, ASKED, lambda _: None).found(read, readers)
    assert readers.batches


def test_what_was_found_is_the_same_after_it_was_sent() -> None:
    found = found_in("so")
    found.failure = "why"
    line = FoundLine.model_validate_json(FoundLine.of(found).model_dump_json())
    assert line.found() == found
