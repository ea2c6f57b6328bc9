"""Proxies and certificates, from the variables that curl and httpx use.

Proxies: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, in either case. This machine is never asked through one.
Certificates: the system's store, which holds a company's own, or SSL_CERT_FILE. pip before 24.2 brings its own
certificates, and other programs read other variables.
"""

import math
import os
import re
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies

from harness.core.errors import ConfigError, MissingDependency, ServiceUnavailable, install

if TYPE_CHECKING:
    from httpx2 import AsyncHTTPTransport, Limits

_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
REFUSED = "CERTIFICATE_VERIFY_FAILED"
"""OpenSSL's message for an untrusted certificate."""
FIX = (
    "add the certificate of your company to the system's store, or name a file that holds it: "
    "export SSL_CERT_FILE=company.pem"
)


@dataclass(frozen=True)
class Proxy:
    url: str = field(repr=False)
    """With user and password: never shown."""
    variable: str
    host: str
    """The host that is asked through it."""

    def __str__(self) -> str:
        """Without user and password."""
        parts = urlsplit(self.url)
        port = f":{parts.port}" if parts.port else ""
        host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else parts.hostname
        return f"the proxy {parts.scheme}://{host}{port} ({self.variable})"

    @property
    def fix(self) -> str:
        return f"correct or unset {self.variable}, or add {self.host or 'the host'} to NO_PROXY"


def proxy_of(url: str) -> Proxy | None:
    """The proxy for requests to a URL; None: it is asked directly. ConfigError for a variable that names none."""
    parts, given = urlsplit(url), getproxies()
    host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme)
    if is_this_machine(host) or _is_excluded(host, port, given.get("no", "")):
        return None
    kind = next((kind for kind in (parts.scheme, "all") if given.get(kind)), None)
    if kind is None:
        return None
    names = (f"{kind}_proxy", f"{kind}_proxy".upper())
    variable = next((name for name in names if os.environ.get(name)), f"the system's {kind} proxy")
    return _checked(given[kind], variable, host)


def _checked(value: str, variable: str, host: str) -> Proxy:
    """The message never quotes the value, which may hold a password."""
    url = (value if "://" in value else f"http://{value}").strip()
    fix = "set it to http://HOST:PORT, or unset it; in a password, @ is written as %40, / as %2F"
    try:
        parts = urlsplit(url)
        is_plain = url.isprintable() and " " not in url
        usable = bool(parts.hostname) and parts.path in {"", "/"} and parts.port != 0 and is_plain
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(f"{variable} is not the URL of a proxy", fix)
    if parts.scheme not in _PORTS:
        raise ConfigError(f"{variable} names a proxy of the kind {parts.scheme[:20]}", "use http, https or socks5")
    if parts.scheme.startswith("socks") and find_spec("socksio") is None:
        raise MissingDependency(f"{variable} names a SOCKS proxy, and socksio is not installed", install("socks"))
    return Proxy(url, variable, host)


def is_this_machine(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return host.rstrip(".") == "localhost" or host.rstrip(".").endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def _is_excluded(host: str, port: int | None, listed: str) -> bool:
    """Whether NO_PROXY lists a host: by name, with its subdomains, by address or network, with or without port."""
    for entry in re.findall(r"[^,\s]+", listed.lower()):
        place = entry.rpartition("://")[2]
        try:
            if ip_address(host) in ip_network(place.strip("[]"), strict=False):
                return True
        except ValueError:
            pass
        name, listed_port = found.groups() if (found := re.fullmatch(r"(.+):(\d+)", place)) else (place, str(port))
        domain = name.strip("[]").removeprefix("*").strip(".")
        if listed_port == str(port) and (name == "*" or (domain and f".{host}".endswith(f".{domain}"))):
            return True
    return False


def connect_once(url: str, timeout_s: float) -> None:
    """Connect to the port of a URL, or to that of its proxy. OSError: the server does not answer.
    ServiceUnavailable: the proxy does not.
    """
    proxy, parts = proxy_of(url), urlsplit(url)
    try:
        parts = urlsplit(proxy.url) if proxy else parts
        address = (parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 443))
        socket.create_connection(address, timeout=timeout_s).close()
    except OSError as error:
        if proxy is None:
            raise
        raise ServiceUnavailable(f"cannot reach {proxy} ({error.strerror or error})", proxy.fix) from error


def raise_refusal(url: str, said: str) -> None:
    """Raise ServiceUnavailable if the proxy of a URL refuses it for good with this status line."""
    if (proxy := proxy_of(url)) is None:
        return
    if said.startswith("407"):
        fix = f"set {proxy.variable}=http://USER:PASSWORD@HOST:PORT, or add {proxy.host} to NO_PROXY"
        raise ServiceUnavailable(f"{proxy} needs a user and a password for {proxy.host} ({said})", fix)
    if re.match(r"4\d\d", said) and not said.startswith(("408", "429")):
        raise ServiceUnavailable(f"{proxy} does not connect to {proxy.host} ({said})", proxy.fix)


def retry_after_s(header: str | None, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> float | None:
    """Seconds from a Retry-After header (RFC 9110 10.2.3: a number or a date); None if absent or unreadable."""
    if not header:
        return None
    try:
        seconds = float(header)
        return max(0.0, seconds) if math.isfinite(seconds) else None
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(header) - now()).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def http_transport(url: str, limits: "Limits", trust: ssl.SSLContext) -> "AsyncHTTPTransport":
    """Plain HTTP to a URL, through its proxy if it has one."""
    from httpx2 import AsyncHTTPTransport

    proxy = proxy_of(url)
    return AsyncHTTPTransport(verify=trust, limits=limits, proxy=proxy.url if proxy else None)


def trusted_certificates() -> ssl.SSLContext:
    """The certificates that are trusted; ConfigError if the named file holds none. Takes tens of milliseconds."""
    from httpx2 import create_ssl_context

    try:
        return create_ssl_context()
    except OSError as error:  # ssl.SSLError is one
        named = next((name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name)), "SSL_CERT_FILE")
        reason = "no certificate in it" if isinstance(error, ssl.SSLError) else error.strerror
        what = f"{named} is {os.environ.get(named)}, which cannot be used ({reason})"
        raise ConfigError(what, f"set {named} to a file in PEM format, or unset it") from error


def use_network_settings() -> None:
    """Make the libraries in this process and its children use the certificate file that curl, pip or requests are
    configured with, unless SSL_CERT_FILE names one; and no proxy for this machine.
    """
    if not os.environ.get("SSL_CERT_FILE") and (found := _named()):
        os.environ["SSL_CERT_FILE"] = found
    given = getproxies()
    if any(given.get(kind) for kind in ("http", "https", "all")):
        listed = [entry for entry in re.split(r"[,\s]+", given.get("no", "")) if entry]
        if "*" not in listed:
            # The lower case counts for some libraries, the upper case for others.
            os.environ["no_proxy"] = os.environ["NO_PROXY"] = ",".join(dict.fromkeys([*listed, *_THIS_MACHINE]))


def store_file() -> str | None:
    """A file of trusted certificates, for programs that can only read one."""
    named = os.environ.get("SSL_CERT_FILE") or _named()
    return named or ssl.get_default_verify_paths().cafile


def _named() -> str | None:
    named = (os.environ.get(name, "") for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT"))
    return next((path for path in named if path and Path(path).is_file()), None)
