"""What so many queries can tell apart, before anything is paid."""

import pytest

from harness.config import BenchConfig
from harness.runner.estimating.sample_size_notice import SampleSize, sample_sizes, size_lines, sizes_json
from harness.runner.plan import plan_cells

SYSTEMS = ["naive", "recursive", "closed-book"]


def sizes(**keys: object) -> list[SampleSize]:
    return sample_sizes(plan_cells(BenchConfig.model_validate({"dataset": {"name": "demo"}, **keys})))


def of(n: int, systems: int) -> SampleSize:
    return SampleSize("demo", n, 100, systems, {0.05: 1284, 0.2: 71})


def test_baselines_are_no_systems_that_have_to_be_told_apart() -> None:
    (size,) = sizes(systems=SYSTEMS)
    assert (size.n_systems, size.n_pairs) == (2, 1)


def test_eight_queries_and_six_pairs_can_show_nothing_but_eight_of_eight() -> None:
    assert "only if one system is better on 8 of 8" in of(8, 4).line
    assert "no difference can be significant" in of(7, 4).line
    assert "significant" not in of(9, 4).line


def test_more_systems_take_more_queries() -> None:
    few, many = (
        sizes(systems=["naive", "recursive"]),
        sizes(systems=["naive"], matrix={"answer.top_k": [1, 2, 3, 4]}),
    )
    for step in (0.05, 0.1, 0.2):
        less, more = few[0].needed[step], many[0].needed[step]
        assert less is not None
        assert more is not None
        assert less < more


def test_what_the_data_set_does_not_have_is_said() -> None:
    line = of(50, 2).line
    assert line.endswith("5 points about 1,300, 20 points about 71; the data set has 100")


@pytest.mark.parametrize("config", [{"systems": ["naive"]}, {"systems": SYSTEMS}])
def test_it_refuses_nothing(config: dict[str, object]) -> None:
    cells = plan_cells(
        BenchConfig.model_validate({"dataset": {"name": "demo", "sample": {"per_type": 1}}, **config})
    )
    assert size_lines(sample_sizes(cells))
    assert sizes_json(sample_sizes(cells))[0]["can_show_anything"] is False


def test_a_sample_that_two_configs_share_is_one_line_about_the_larger_comparison() -> None:
    (line,) = size_lines([of(50, 2), of(50, 4), of(50, 3)])
    assert line == of(50, 4).line


def test_marks_that_compete_with_nobody_ask_for_no_queries() -> None:
    assert sizes(systems=["gold", "closed-book"]) == []
