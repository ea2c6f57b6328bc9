"""`rag-harness init`: writes a config file to start from."""

import shlex
from pathlib import Path

from harness.cli.console import open_console
from harness.config.template import template
from harness.core.errors import ConfigError, explained_io


def begin_config(file: Path) -> None:
    """Write the file and print the next commands. ConfigError if it exists, StoreError if it cannot be written."""
    with explained_io("write", file):
        try:
            with file.open("x", encoding="utf-8") as opened:
                opened.write(template(file.name))
        except FileExistsError as error:
            raise ConfigError(
                f"{file} already exists", "choose another name: rag-harness init other.yaml"
            ) from error
    console, named = open_console(), shlex.quote(str(file))
    console.print(f"wrote {file}", soft_wrap=True)
    for what in ("plan", "run"):
        console.print(f"next: rag-harness {what} -c {named}", soft_wrap=True)
