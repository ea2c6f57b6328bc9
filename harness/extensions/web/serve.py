"""Pages of this machine that a command serves until a person is done."""

from typing import TYPE_CHECKING

from harness.cli.console import open_console

if TYPE_CHECKING:
    from harness.extensions.web import LocalPage


def serve_page(page: "LocalPage", port: int) -> None:
    """Print its address and serve it until it says that it is done, or Ctrl-C. ConfigError: the port is taken."""
    from harness.extensions.web import open_page

    console = open_console()
    with open_page(page, port) as server:
        console.print(f"open {server.url}", soft_wrap=True)
        console.print("every decision is kept at once; Ctrl-C, or Done on the page, ends", soft_wrap=True)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            console.print("")
