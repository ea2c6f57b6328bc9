"""`rag-harness demo`: opens the finished report that ships with the package."""

import json
import webbrowser

from harness.cli.console import open_console
from harness.config.shipped_files import shipped_report
from harness.core.bounded_files import read_plain
from harness.core.errors import ConfigError
from harness.display import printable


def open_finished_report(*, in_browser: bool) -> None:
    """Print the headlines of the report, its path and the next commands; open it in a browser, if there is one."""
    page = shipped_report()
    if not page.is_file():
        raise ConfigError(f"the report is missing from this installation: {page}", "install the package again")
    console, verdicts = open_console(), page.with_name("verdict.json")
    for verdict in json.loads(read_plain(verdicts, 1 << 22)) if verdicts.is_file() else ():
        headline = f"{printable(verdict['dataset'])}: {printable(verdict['headline'], 300)}"
        console.print(headline, soft_wrap=True, markup=False)
    console.print(str(page), soft_wrap=True)
    if in_browser and not webbrowser.open(page.as_uri()):
        console.print("no browser was found: open this file in one", soft_wrap=True)
    console.print(
        "It compares searches over 120 questions, and answers of six systems, on a laptop without a key."
    )
    console.print("next: rag-harness run --docs FOLDER --questions FILE    (your documents)")
    console.print("no questions yet: rag-harness questions FOLDER")
