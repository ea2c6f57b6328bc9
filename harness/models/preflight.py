"""What can be known before anything is paid: is the key there, does the server answer."""

import socket
from urllib.parse import urlsplit

from harness.config import ModelConfig
from harness.errors import ModelUnavailable
from harness.models.providers import HTTP_PROVIDERS, api_key

_CONNECT_TIMEOUT_S = 5.0


def check_reachable(config: ModelConfig) -> None:
    """Raise ModelUnavailable, one line, if the model's provider has no key or its port does not answer."""
    if config.provider not in HTTP_PROVIDERS:
        return
    api_key(config)
    url = urlsplit(str(config.base_url))
    port = url.port or (443 if url.scheme == "https" else 80)
    try:
        socket.create_connection((url.hostname or "", port), timeout=_CONNECT_TIMEOUT_S).close()
    except OSError as error:
        raise ModelUnavailable(
            f"cannot reach the {config.role} at {config.base_url} ({error.strerror or error})",
            HTTP_PROVIDERS[config.provider].fix,
        ) from error
