"""Whole texts to triplets by rules, with the real pipeline."""

import asyncio
import functools
import itertools
import time
from typing import Any

import pytest

from harness.core.records import Triplet
from harness.extraction import nlp, nlp_found
from harness.extraction.rule_triplets import WINDOW, ParsedTexts, Unparsed

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
def told() -> list[tuple[int, int]]:
    return []


@pytest.fixture
def parsed(loads: list[str], told: list[tuple[int, int]]) -> ParsedTexts:
    return ParsedTexts(lambda done, total: told.append((done, total)))


@pytest.mark.slow
async def test_the_triplets_of_texts_come_in_their_order_and_once(parsed: ParsedTexts) -> None:
    assert await parsed.of(SUED, BOUGHT, SUED) == (
        Triplet("Apple", "sue", "Samsung"),
        Triplet("Google", "buy", "YouTube"),
    )


async def test_a_window_is_parsed_once_and_the_pipeline_is_loaded_once(
    parsed: ParsedTexts, loads: list[str], told: list[tuple[int, int]]
) -> None:
    await parsed.parse([SUED, BOUGHT, SUED])
    await parsed.of(BOUGHT)
    await parsed.of("Microsoft hired Sam Altman.")

    assert told == [(2, 2), (1, 1)]
    assert len(loads) == 1


async def test_a_long_text_has_more_triplets_than_a_window_may(parsed: ParsedTexts) -> None:
    text = " ".join(f"{one} sued {other}." for one, other in itertools.permutations(COMPANIES, 2))
    assert len(text) > WINDOW

    found = await parsed.of(text)

    assert len(found) > nlp_found.MAX_TRIPLETS
    assert {triplet.head for triplet in found} >= {COMPANIES[0], COMPANIES[-1]}


@pytest.mark.parametrize("text", ["", " \n ", "Yes", "()-[]->()", "(a)-[b]->", "\x00\x1b[2J", ")-[" * 2000])
async def test_a_text_that_states_nothing_has_no_triplets(parsed: ParsedTexts, text: str) -> None:
    assert await parsed.of(text) == ()


async def test_a_text_that_cannot_be_parsed_is_an_error_whoever_asks(
    parsed: ParsedTexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def phrases_of(doc: object) -> object:
        if "poison" in str(doc):
            raise RuntimeError("cannot parse")
        return parse(doc)

    parse = nlp_found.phrases_of  # type: ignore[attr-defined]
    monkeypatch.setattr(nlp_found, "phrases_of", phrases_of)
    await parsed.parse(["poison", SUED])

    with pytest.raises(Unparsed, match="RuntimeError: cannot parse"):
        await parsed.of(SUED, "poison")
    assert await parsed.of(SUED)


async def test_askers_at_once_are_parsed_one_after_the_other(
    parsed: ParsedTexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_way: list[int] = [0]

    def read_batch(*args: Any) -> Any:
        under_way.append(under_way[-1] + 1)
        time.sleep(0.05)
        found = real(*args)
        under_way.append(under_way[-1] - 1)
        return found

    real = nlp._read_batch
    monkeypatch.setattr(nlp, "_read_batch", read_batch)
    sued, bought = await asyncio.gather(parsed.of(SUED), parsed.of(BOUGHT))

    assert (sued[0].head, bought[0].head) == ("Apple", "Google")
    assert under_way == [0, 1, 0, 1, 0]
