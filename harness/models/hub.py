"""Is the Hugging Face hub there? Its libraries try for half a minute to find out; a look takes a moment."""

import os
import socket
from urllib.parse import urlsplit

_TIMEOUT_S = 5.0


def hub_is_reachable() -> bool:
    """Whether the hub (or the mirror in HF_ENDPOINT) answers; False where HF_HUB_OFFLINE is set."""
    if os.environ.get("HF_HUB_OFFLINE", "0").upper() in {"1", "TRUE", "YES", "ON"}:
        return False
    url = urlsplit(os.environ.get("HF_ENDPOINT", "https://huggingface.co"))
    try:
        socket.create_connection((url.hostname or "", url.port or 443), timeout=_TIMEOUT_S).close()
    except OSError:
        return False
    return True
