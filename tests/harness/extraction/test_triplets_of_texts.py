"""Triplets of texts: by the rules, by a model, and window by window."""

import asyncio
import functools
import itertools
import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runtimes import Chat

from harness.core.errors import ConfigError
from harness.core.records import Triplet
from harness.extraction import nlp, remote_extraction, types
from harness.extraction.entity_names import entity_id
from harness.extraction.model_triplets import MAX_TRIPLETS, judged_triplets
from harness.extraction.remote_extraction import TextsRead, TextsToRead, read_shared
from harness.extraction.text_windows import WINDOW, Extractions, ParsedTexts, Unparsed, windows_of
from harness.extraction.types import FoundEntity, TextFinds
from harness.llm_utils.structured_output import Unreadable

LOAD = functools.cache(nlp._load)
SUED = "Apple sued Samsung."
COMPANIES = ["Apple", "Google", "Microsoft", "Samsung", "Sony", "Intel", "IBM", "Nokia", "Amazon", "Netflix"]
BOUGHT = "Google bought YouTube."


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pipelines that were asked for."""
    asked: list[str] = []

    def load(pipeline: str) -> object:
        asked.append(pipeline)
        return LOAD(pipeline)

    monkeypatch.setattr(nlp, "_load", load)
    return asked


@pytest.fixture
def parsed(loads: list[str]) -> ParsedTexts:
    return ParsedTexts(lambda done, total: None)


async def test_a_window_is_parsed_once_and_the_pipeline_is_loaded_once(loads: list[str]) -> None:
    told: list[tuple[int, int]] = []
    parsed = ParsedTexts(lambda done, total: told.append((done, total)))
    await parsed.parse([SUED, BOUGHT, SUED])
    await parsed.of(BOUGHT)
    await parsed.of("Microsoft hired Sam Altman.")
    assert told == [(2, 2), (1, 1)]
    assert len(loads) == 1


async def test_a_long_text_has_more_triplets_than_a_window_may(parsed: ParsedTexts) -> None:
    text = " ".join(f"{one} sued {other}." for one, other in itertools.permutations(COMPANIES, 2))
    assert len(text) > WINDOW

    found = await parsed.of(text)
    assert len(found) > types.MAX_TRIPLETS
    assert {triplet.head for triplet in found} >= {COMPANIES[0], COMPANIES[-1]}


async def test_a_text_that_states_nothing_has_no_triplets(parsed: ParsedTexts) -> None:
    assert await parsed.of("", " \n ", "Yes", "()-[]->()", "(a)-[b]->", "\x00\x1b[2J", ")-[" * 2000) == ()


async def test_a_text_that_cannot_be_parsed_is_an_error(
    parsed: ParsedTexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = types.phrases_of  # type: ignore[attr-defined]
    monkeypatch.setattr(types, "phrases_of", lambda doc: None if "poison" in doc.text else known(doc))
    await parsed.parse(["poison", SUED])
    with pytest.raises(Unparsed, match="TypeError: "):
        await parsed.of(SUED, "poison")
    assert await parsed.of(SUED)


def reply(*triplets: object) -> str:
    return json.dumps({"triplets": list(triplets)})


async def read(*replies: str, window: str = "Apple sued Samsung in 2011.") -> tuple[Triplet, ...]:
    waiting = iter(replies)
    return await judged_triplets(Chat(lambda _: next(waiting)), window)


ABC = Triplet("a", "b", "c")


@pytest.mark.parametrize(
    ("listed", "triplets"),
    [
        ([["a", "b", "c"], ["Apple", "sued in", "2011"]], [ABC, Triplet("Apple", "sued in", "2011")]),
        # A server may not know schemas.
        ([{"head": "a", "relation": "b", "tail": "c"}], [ABC]),
        ([["Apple", "", "Samsung"], ["Apple", "sued"], [1, 2, 3], ["a", "b", "c"], ["a", "b", "c"]], [ABC]),
        (
            [[f"head {number}", "is", "a"] for number in range(500)],
            [Triplet(f"head {number}", "is", "a") for number in range(MAX_TRIPLETS)],
        ),
    ],
    ids=["lists", "objects", "parts that are missing", "without end"],
)
async def test_a_window_becomes_its_triplets_each_once(listed: list[object], triplets: list[Triplet]) -> None:
    assert await read(reply(*listed)) == tuple(triplets)


async def test_a_request_holds_the_window_and_bounds_its_reply() -> None:
    chat = Chat(lambda _: reply())
    await judged_triplets(chat, "Apple sued Samsung.")
    (asked,) = chat.calls
    assert "Apple sued Samsung." in asked.messages[-1].content
    assert asked.max_tokens is not None
    assert asked.json_schema is not None


@pytest.mark.parametrize("garbage", ["I cannot.", '{"triplets": 3}', reply(["", "", ""]), reply(["..."] * 3)])
async def test_a_reply_without_triplets_is_asked_for_again_and_then_a_failure(garbage: str) -> None:
    assert await read(garbage, reply(["a", "b", "c"])) == (Triplet("a", "b", "c"),)
    with pytest.raises(Unreadable):
        await read(garbage, garbage)


class Reading:
    """Reads a window as one triplet for each of its words, and remembers the windows."""

    def __init__(self) -> None:
        self.windows: list[str] = []

    async def __call__(self, window: str) -> tuple[Triplet, ...]:
        self.windows.append(window)
        await asyncio.sleep(0)
        if "garbage" in window:
            raise Unreadable("the model's reply is not what was asked for")
        return tuple(Triplet(word, "is", "said") for word in window.split())


async def test_each_window_is_read_once_and_one_that_fails_fails_its_text_alone() -> None:
    read = Reading()
    extractions = Extractions(read, 12)
    found = await asyncio.gather(extractions.of("one two. three"), extractions.of("three", "one two.\n\none two."))
    assert [[triplet.head for triplet in triplets] for triplets in found] == [
        ["one", "two.", "three"],
        ["three", "one", "two."],
    ]
    assert read.windows == ["one two.", "three"]
    with pytest.raises(Unreadable):
        await extractions.of("one two. garbage. five six.")
    assert read.windows[2:] == ["garbage.", "five six."]
    assert await extractions.of("one two.") == found[0][:2]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a paragraph\n\nand another one", ["a paragraph", "and another one"]),
        ("One sentence. And another.", ["One sentence.", "And another."]),
        ("words without any full stop", ["words without any", "full stop"]),
        ("x" * 40, ["x" * 18, "x" * 18, "x" * 4]),
    ],
)
def test_a_text_is_split_between_paragraphs_sentences_or_words_if_possible(text: str, expected: list[str]) -> None:
    assert list(windows_of(text, 18)) == expected


@given(text=st.text(alphabet="ab. \n", max_size=200), longest=st.integers(1, 40))
def test_windows_are_within_bounds_and_lose_only_white_space(text: str, longest: int) -> None:
    windows = list(windows_of(text, longest))
    assert all(0 < len(window) <= longest and window == window.strip() for window in windows)
    assert "".join("".join(windows).split()) == "".join(text.split())


# Texts that are read here and elsewhere: each is in its place, whoever reads it and whoever is lost.


ASKED = TextsToRead(pipeline="p", digest="d", every_phrase=False, texts=())
TEXTS = [f"text {number}" for number in range(23)]


def found_in(text: str) -> TextFinds:
    said = Triplet(text, "is", "a text")
    entity = FoundEntity(text, "Thing")
    return TextFinds(entities=[entity], others={entity_id(text): entity}, statements=[said])


class RemoteScoring:
    """Reads every batch but those of which `lost` says so; some come late."""

    def __init__(self, n: int, lost: Sequence[int] = (), late_s: float = 0.0) -> None:
        self.n, self.batches, self.has_left = n, list[tuple[str, ...]](), False
        self._lost, self.late_s = lost, late_s

    async def read(self, asked: TextsToRead) -> TextsRead | None:
        self.batches.append(asked.texts)
        number = len(self.batches)
        await asyncio.sleep(self.late_s)
        if number in self._lost:
            return None
        return TextsRead(found=tuple(map(found_in, asked.texts)), cpu_s=0.0)

    async def leave(self) -> None:
        self.has_left = True


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_extraction, "BATCH", 2)
    monkeypatch.setattr(remote_extraction, "_AGAIN_S", 0.001)


@pytest.mark.parametrize(
    "readers",
    [
        RemoteScoring(3),
        RemoteScoring(0),
        RemoteScoring(3, (1, 3)),
        RemoteScoring(2, late_s=60.0),
    ],
)
async def test_results_come_in_order_whatever_becomes_of_other_machines(readers: RemoteScoring) -> None:
    here: list[str] = []
    told: list[int] = []

    async def read(texts: Sequence[str]) -> list[TextFinds]:
        await asyncio.sleep(0.002)
        here.extend(texts)
        return list(map(found_in, texts))

    async with asyncio.timeout(10):
        found = await read_shared(TEXTS, ASKED, told.append, read, readers)
    assert found == list(map(found_in, TEXTS))
    assert told == sorted(told)
    assert told[-1] == len(TEXTS)
    assert here[:2] == TEXTS[:2]
    # Texts that other machines have read in time are not read here.
    assert (len(here) < len(TEXTS)) == (readers.n > 0 and readers.late_s < 1)
    assert readers.has_left


async def test_an_error_here_ends_the_reading_elsewhere_and_is_raised() -> None:
    readers = RemoteScoring(3, late_s=60.0)

    async def read(_: Sequence[str]) -> list[TextFinds]:
        await asyncio.sleep(0.002)
        raise ConfigError("no pipeline", "install it")

    with pytest.raises(ConfigError, match="no pipeline"):
        async with asyncio.timeout(10):
            await read_shared(TEXTS, ASKED, lambda _: None, read, readers)
    assert readers.batches


def test_phrases_are_the_same_after_they_were_sent() -> None:
    found = found_in("so")
    found.failure = "why"
    assert TextFinds.model_validate_json(found.model_dump_json()) == found
