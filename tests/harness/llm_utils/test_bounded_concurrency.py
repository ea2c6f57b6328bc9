import asyncio

import pytest

from harness.llm_utils.bounded_concurrency import map_bounded


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


async def test_nothing_gives_nothing() -> None:
    assert await map_bounded(asyncio.sleep, [], 2) == []


async def test_progress_hears_of_each_item_that_is_done() -> None:
    told: list[tuple[int, int]] = []
    await map_bounded(asyncio.sleep, [0.0, 0.0, 0.0], 2, lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]
