"""A section from a package of its own: words, a table and a figure in page, Markdown, terminal and files."""

from collections.abc import Callable

import pytest
from command_line import SMOKE, CommandLine
from strangers import says

pytestmark = pytest.mark.slow


def test_it_is_in_the_page_in_markdown_in_the_terminal_and_in_the_folders(
    stranger: Callable[..., CommandLine],
) -> None:
    outside = stranger("section")
    scripted = ("--set", "models.generator.options={reply: one two three}", "--set", "evaluators=[answer]")
    said = says(outside, "run", "-c", str(SMOKE), "-s", "gold", *scripted, "--out", "told", "--full")
    told = outside.folder / "told"
    markdown, page = (told / "summary.md").read_text(), (told / "report.html").read_text()
    for form in (markdown, page, said):
        assert "The longest answer has 3 words (gold)." in form
        assert "Words of an answer" in form
    assert "### How long answers are\n" in markdown
    assert "(figures/lengths.svg)" in markdown
    assert ">How long answers are</h" in page
    assert {path.name for path in (told / "figures").glob("lengths.*")} == {"lengths.svg"}
    assert (told / "tables" / "lengths.csv").read_text().splitlines()[1].startswith("gold,")
    says(outside, "report", "demo--gold", "--out", "again")
    assert (outside.folder / "again" / "report.html").read_bytes() == (told / "report.html").read_bytes()
