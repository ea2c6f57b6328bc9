import asyncio

import pytest

from harness.llm_utils.compute_once import Once


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


async def test_every_key_has_its_own_result() -> None:
    once: Once[int, int] = Once()

    async def of(number: int) -> int:
        async def make() -> int:
            return number * number

        return await once.of(number, make)

    assert [await of(number) for number in (2, 3, 2)] == [4, 9, 4]


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
