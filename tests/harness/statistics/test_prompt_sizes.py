"""The prompt size at which systems compare."""

import pytest

from harness.statistics.prompt_sizes import equal_size

SIZES = (1000, 2000, 4000, 8000)


@pytest.mark.parametrize(
    ("medians", "size"),
    [
        ((10_322.0, 4_411.0), 4000),
        ((4000.0, 9000.0), 4000),
        ((3999.5, 9000.0), 2000),
        ((20_000.0, 30_000.0), 8000),
        ((999.0, 30_000.0), None),
        ((), None),
    ],
)
def test_it_is_the_largest_that_the_smallest_system_reaches(medians: tuple[float, ...], size: int | None) -> None:
    assert equal_size(medians, SIZES) == size
    assert equal_size(medians[::-1], SIZES[::-1]) == size


def test_without_any_size_there_is_none() -> None:
    assert equal_size([5000.0], []) is None
