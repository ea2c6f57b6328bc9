"""What the pages tell a reader to open or to run is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md"), *ROOT.glob("systems/*/README.md")]
)
_NAMED = re.compile(r"\b(?:configs|scripts|docs)/[\w./-]+\.(?:yaml|py|md)\b")
_LINKED = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_config_script_and_page_that_a_page_names_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    missing = [name for name in _NAMED.findall(text) if not (ROOT / name).exists()]
    missing += [link for link in _LINKED.findall(text) if not (page.parent / link).exists()]
    assert missing == []


def test_pages_are_found() -> None:
    assert {"README.md", "ARCHITECTURE.md"} <= {page.name for page in PAGES}
