"""Work side by side within bounds, and each piece of it once."""

import asyncio

import pytest

from harness.llm_utils.concurrency import Once, map_bounded


async def test_results_stand_in_the_order_of_the_items_and_never_more_than_the_limit_are_under_way() -> None:
    under_way, most = 0, 0

    async def work(item: int) -> int:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.001 * (5 - item % 5))
        under_way -= 1
        return item * item

    assert await map_bounded(work, range(20), 3) == [n * n for n in range(20)]
    assert most == 3


async def test_the_first_exception_comes_out_as_itself_and_ends_the_others() -> None:
    finished = []

    async def work(item: int) -> None:
        if item == 1:
            raise KeyError(item)
        await asyncio.sleep(0.05)
        finished.append(item)

    with pytest.raises(KeyError):
        await map_bounded(work, range(4), 2)
    await asyncio.sleep(0.1)
    assert finished == []


async def test_what_many_ask_for_at_once_is_made_once() -> None:
    once: Once[str, int] = Once()
    made: list[str] = []

    async def make() -> int:
        made.append("x")
        await asyncio.sleep(0)
        return 7

    assert await asyncio.gather(*[once.of("key", make) for _ in range(5)]) == [7] * 5
    assert await once.of("key", make) == 7
    assert made == ["x"]


async def test_a_failure_is_raised_to_everyone_who_asks_and_not_tried_again() -> None:
    once: Once[str, int] = Once()
    tried: list[str] = []

    async def make() -> int:
        tried.append("x")
        raise ValueError("no triplets in this reply")

    for _ in range(2):
        with pytest.raises(ValueError, match="no triplets in this reply"):
            await once.of("key", make)
    assert tried == ["x"]
