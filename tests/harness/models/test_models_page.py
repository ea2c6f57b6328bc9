"""docs/models.md: what it shows works, and it leaves nobody out."""

import re
from pathlib import Path

import pytest
import yaml

from harness.config.load import load_config
from harness.models.providers import PROVIDERS, resolve_embedder, resolve_generator

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "models.md").read_text()
(BLOCK,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
EXAMPLES = list(yaml.safe_load_all(BLOCK))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["models"]["generator"]["provider"])
def test_every_config_of_the_page_is_one_that_resolves(example: dict[str, object]) -> None:
    models = load_config(example).models
    assert resolve_generator(models.generator).base_url
    assert resolve_embedder(models.embedder).model


def test_every_provider_that_ships_stands_in_its_table() -> None:
    named = set(re.findall(r"^\| `([\w-]+)` \|", PAGE, re.MULTILINE))
    assert named == set(PROVIDERS.names()) - {"fake"}
