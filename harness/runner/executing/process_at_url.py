"""Finds the process on this machine that serves a URL."""

from urllib.parse import urlsplit

import psutil

from harness.core.network import is_this_machine

_PORTS = {"http": 80, "https": 443, "bolt": 7687, "neo4j": 7687}
_FORWARDERS = frozenset(
    ["docker-proxy", "rootlessport", "slirp4netns", "pasta", "gvproxy", "ssh", "sshd", "socat", "kubectl"]
)
"""Processes that forward to a container or another machine. Their CPU and RAM are not those of the server."""


def listening_at(url: str) -> int | None:
    """The id of the process that serves this URL; of the parent, if it and its children listen. None if the server
    is not on this machine or its process is not visible.
    """
    parts = urlsplit(url)
    port = parts.port or _PORTS.get(parts.scheme.partition("+")[0])
    if port is None or not is_this_machine(parts.hostname or ""):
        return None
    try:
        found = psutil.net_connections(kind="tcp")
    except psutil.Error:
        # Some operating systems show connections only to an administrator.
        return None
    listening = (one for one in found if one.status == psutil.CONN_LISTEN and one.pid)
    return _first_of_family({one.pid or 0 for one in listening if getattr(one.laddr, "port", None) == port})


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
