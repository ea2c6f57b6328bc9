"""Pages for a person at this machine: served on 127.0.0.1 to whoever has the token of their address."""

from harness.extensions.web.pages import LocalPage, framed
from harness.extensions.web.server import PageServer, open_page

__all__ = ["LocalPage", "PageServer", "framed", "open_page"]
