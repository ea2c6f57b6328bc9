"""`rag-harness demo`: opens the finished report that ships with the package."""

import webbrowser

from harness.cli.console import open_console
from harness.config.shipped_files import shipped_report
from harness.core.errors import ConfigError


def open_finished_report(*, in_browser: bool) -> None:
    """Print the path of the report and the next commands; open it in a browser, if there is one."""
    page = shipped_report()
    if not page.is_file():
        raise ConfigError(f"the report is missing from this installation: {page}", "install the package again")
    console = open_console()
    console.print(str(page), soft_wrap=True)
    if in_browser and not webbrowser.open(page.as_uri()):
        console.print("no browser was found: open this file in one", soft_wrap=True)
    console.print(
        "It compares searches over 120 questions, and answers of six systems, on a laptop without a key."
    )
    console.print("next: rag-harness run --docs FOLDER --questions FILE    (your documents)")
    console.print("no questions yet: rag-harness questions FOLDER")
