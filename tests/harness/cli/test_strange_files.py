"""Whatever a file holds, it is taken or refused in one line."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from strange import Strange, commands
from strange_files import kinds

pytestmark = pytest.mark.slow
SOME = settings(
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def test_a_strange_config_is_taken_or_one_line(tmp_path: Path) -> None:
    place = Strange(tmp_path)

    @settings(SOME, max_examples=60)
    @given(commands())
    def each(command: tuple[str, list[str]]) -> None:
        assert place.wrong_with_command(*command) == ""

    each()


@pytest.mark.parametrize("number", range(6))
def test_a_strange_file_of_answers_or_of_a_data_set_is_taken_or_one_line(tmp_path: Path, number: int) -> None:
    texts, wrong_with = list(kinds(tmp_path / "files").values())[number]

    @settings(SOME, max_examples=40)
    @given(texts)
    def each(text: str) -> None:
        assert wrong_with(text) == ""

    each()
