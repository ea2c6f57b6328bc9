"""What the operating system says of this process."""

import getpass
import re
import resource
import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)


def user_name() -> str | None:
    """The login of whoever runs it; None where the system has no name for that user, as in containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # OSError from Python 3.13 on.
        return None


def peak_rss_bytes() -> int:
    """The most memory it held at once since its program began.

    On Linux not `ru_maxrss`: a new program inherits that from whoever started it, so that a small system asked for
    from a large notebook would be as large as the notebook.
    """
    if _STATUS.exists() and (peak := _PEAK.search(_STATUS.read_text())):
        return 1024 * int(peak[1])
    # In kilobytes, on macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
