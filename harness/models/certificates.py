"""Certificates: the system's store, which holds a company's own, or a file named by the user.

Our HTTP clients, and the hub's, use the system's store or SSL_CERT_FILE. pip before 24.2 brings its own
certificates, and other programs read other variables.
"""

import os
import ssl
from pathlib import Path

_AS_OTHERS_ARE_TOLD = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT")
REFUSED = "CERTIFICATE_VERIFY_FAILED"
"""OpenSSL's message for an untrusted certificate."""
FIX = (
    "add the certificate of your company to the system's store, or name a file that holds it: "
    "export SSL_CERT_FILE=company.pem"
)


def use_configured_certificates() -> None:
    """Use the certificate file that curl, pip or requests are configured with, unless SSL_CERT_FILE names one."""
    if not os.environ.get("SSL_CERT_FILE") and (found := _named()):
        os.environ["SSL_CERT_FILE"] = found


def store_file() -> str | None:
    """A file of trusted certificates, for programs that can only read one."""
    named = os.environ.get("SSL_CERT_FILE") or _named()
    return named or ssl.get_default_verify_paths().cafile


def _named() -> str | None:
    named = (os.environ.get(name, "") for name in _AS_OTHERS_ARE_TOLD)
    return next((path for path in named if path and Path(path).is_file()), None)
