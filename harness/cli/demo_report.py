"""`rag-harness demo`: opens the finished report that ships with the package."""

import json
import webbrowser
from collections.abc import Iterator
from pathlib import Path

from harness.cli.console import open_console
from harness.config.shipped_files import shipped_report
from harness.core.bounded_files import read_plain
from harness.core.errors import ConfigError
from harness.display import printable

_MOST_BYTES = 1 << 22


def open_finished_report(*, in_browser: bool) -> None:
    """Print the headlines of the report, its path and the next commands; open it in a browser, if there is one."""
    page = shipped_report()
    if not page.is_file():
        raise ConfigError(f"the report is missing from this installation: {page}", "install the package again")
    console = open_console()
    for headline in _headlines(page.with_name("verdict.json")):
        console.print(headline, soft_wrap=True, markup=False)
    console.print(str(page), soft_wrap=True)
    if in_browser and not webbrowser.open(page.as_uri()):
        console.print("no browser was found: open this file in one", soft_wrap=True)
    console.print(
        "It compares searches over 120 questions, and answers of six systems, on a laptop without a key."
    )
    console.print("next: rag-harness run --docs FOLDER --questions FILE    (your documents)")
    console.print("no questions yet: rag-harness questions FOLDER")


def _headlines(path: Path) -> Iterator[str]:
    """`DATA SET: HEADLINE` of each verdict; nothing if they were not published with the page."""
    if path.is_file():
        for verdict in json.loads(read_plain(path, _MOST_BYTES)):
            yield f"{printable(verdict['dataset'])}: {printable(verdict['headline'], 300)}"
