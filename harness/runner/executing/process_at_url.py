"""Which process on this machine answers at a URL."""

import ipaddress
from urllib.parse import urlsplit

import psutil

_PORTS = {"http": 80, "https": 443, "bolt": 7687, "neo4j": 7687}
_FORWARDERS = frozenset(
    ["docker-proxy", "rootlessport", "slirp4netns", "pasta", "gvproxy", "ssh", "sshd", "socat", "kubectl"]
)
"""Who listens for somebody else, in a container or on another machine: its CPU and RAM are not the server's."""


def listening_at(url: str) -> int | None:
    """Its process id; the parent's, where several of one family listen. None: the server is not on this machine,
    or its process cannot be seen.
    """
    parts = urlsplit(url)
    port = parts.port or _PORTS.get(parts.scheme.partition("+")[0])
    if port is None or not _is_here(parts.hostname or ""):
        return None
    try:
        found = psutil.net_connections(kind="tcp")
    except psutil.Error:
        # Some systems show connections to an administrator alone.
        return None
    listening = (one for one in found if one.status == psutil.CONN_LISTEN and one.pid)
    return _first_of_family({one.pid or 0 for one in listening if getattr(one.laddr, "port", None) == port})


def _is_here(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return address.is_loopback or address.is_unspecified


def _first_of_family(pids: set[int]) -> int | None:
    for pid in sorted(pids):
        try:
            process = psutil.Process(pid)
            if process.name() in _FORWARDERS:
                return None
            if process.ppid() not in pids:
                return pid
        except psutil.Error:
            continue
    return None
