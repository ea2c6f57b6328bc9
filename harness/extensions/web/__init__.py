"""Pages for the user of this machine: served on 127.0.0.1 to whoever has the token in their address."""

from harness.cli.console import open_console
from harness.core.errors import need
from harness.extensions.web.pages import LocalPage


def serve_page(page: LocalPage, port: int) -> None:
    """Print its address and serve it until it is done, or Ctrl-C. Raises ConfigError if the port is taken."""
    need("web", "starlette", "uvicorn")
    from harness.extensions.web.server import open_page

    console = open_console()
    with open_page(page, port) as server:
        console.print(f"open {server.url}", soft_wrap=True)
        console.print("Every decision is saved at once. To end: Ctrl-C, or Done on the page.", soft_wrap=True)
        try:
            server.serve()
        except KeyboardInterrupt:
            console.print("")
