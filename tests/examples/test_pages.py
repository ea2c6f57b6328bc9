"""The pages of docs: their code is the code of the examples, their links lead somewhere, their commands work."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import REPOSITORY, CommandLine
from smoke_index import Indexed
from strangers import says

DOCS = REPOSITORY / "docs"
PAGES = {
    "system": "add-a-system.md",
    "dataset": "add-a-dataset.md",
    "evaluator": "add-an-evaluator.md",
    "provider": "add-a-provider.md",
    "section": "add-a-report-section.md",
}
BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: str) -> list[tuple[str, str, str]]:
    """Language, file and text of each block of code."""
    return [(found[1], found[2], found[3]) for found in BLOCK.finditer((DOCS / page).read_text())]


@pytest.mark.parametrize("page", [*PAGES.values(), "your-pipeline.md"])
def test_every_block_of_code_stands_so_in_the_file_that_it_names(page: str) -> None:
    code = [(path, text) for _, path, text in blocks(page) if path]
    assert len(code) >= (3 if page in PAGES.values() else 1)
    for path, text in code:
        assert f"\n{text}" in f"\n{(DOCS / path).read_text()}", f"{path} no longer holds:\n{text}"


@pytest.mark.parametrize(("kind", "page"), PAGES.items())
def test_a_page_is_about_its_own_example(kind: str, page: str) -> None:
    named = {path for _, path, _ in blocks(page) if path}
    assert {Path(path).parts[:2] for path in named} == {("examples", kind)}
    assert {f"examples/{kind}/pyproject.toml"} < named


@pytest.mark.parametrize("page", sorted(path.name for path in DOCS.glob("*.md")))
def test_every_link_leads_somewhere(page: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (DOCS / page).read_text())
    assert [link for link in links if not (DOCS / link).exists()] == []


def test_the_index_names_every_page() -> None:
    index = (DOCS / "README.md").read_text()
    others = {path.name for path in DOCS.glob("*.md")} - {"README.md"}
    assert set(PAGES.values()) < others
    assert {name for name in others if f"({name})" in index} == others


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("kind", PAGES)
def test_each_command_of_a_page_works(
    stranger: Callable[..., CommandLine], with_index: Indexed, kind: str
) -> None:
    shell = "\n".join(text for language, _, text in blocks(PAGES[kind]) if language == "sh")
    commands = [shlex.split(line)[1:] for line in shell.splitlines() if line.startswith("rag-harness ")]
    assert {"list", "run"} & {command[0] for command in commands}
    outside = stranger(kind)
    with_index(outside)
    for command in commands:
        if (kind, command[0]) != ("provider", "run"):  # Its server is started by hand: test_provider_example.
            says(outside, *command)
