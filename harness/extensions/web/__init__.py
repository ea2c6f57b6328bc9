"""Pages for the user of this machine: served on 127.0.0.1 to whoever has the token in their address."""

from collections.abc import Callable

from harness.cli.console import open_console
from harness.core.errors import need
from harness.extensions.web.pages import LocalPage


def serve_page(page: LocalPage, port: int, begin: Callable[[], None] | None = None) -> None:
    """Print its address and serve it until it is done, or Ctrl-C. Raises ConfigError if the port is taken. `begin`
    is called before serving, once the port is open.
    """
    need("web", "starlette", "uvicorn")
    from harness.extensions.web.server import open_page

    console = open_console()
    with open_page(page, port) as server:
        console.print(f"open {server.url}", soft_wrap=True)
        console.print("What you decide is saved at once. To end: Ctrl-C, or Done on the page.", soft_wrap=True)
        if begin:
            begin()
        try:
            server.serve()
        except KeyboardInterrupt:
            console.print("")
