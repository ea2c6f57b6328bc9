"""Pages for the user of this machine: served on 127.0.0.1 to whoever has the token in their address."""

from collections.abc import Callable

from harness.cli.console import open_console
from harness.core.errors import need
from harness.extensions.web.pages import LocalPage


def serve_page(page: LocalPage, port: int, begin: Callable[[], None] | None = None) -> None:
    """Print its address, call `begin`, and serve it until Done or Ctrl-C. ConfigError: the port is taken."""
    need("web", "starlette", "uvicorn")
    from harness.extensions.web.server import PageServer

    console = open_console()
    with PageServer(page, port) as server:
        console.print(f"open {server.url}", soft_wrap=True)
        console.print("What you decide is saved at once. To end: Ctrl-C, or Done on the page.", soft_wrap=True)
        if begin:
            begin()
        try:
            server.serve()
        except KeyboardInterrupt:
            console.print("")
