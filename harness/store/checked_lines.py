"""Lines of files that grow: each says itself whether it is whole, and of which run."""

import re
import zlib
from collections.abc import Callable

from pydantic import BaseModel

_CHECK = re.compile(rb',"check":"([0-9a-f]{8})"\}$')


def with_check(record: BaseModel, run_id: str) -> bytes:
    """The record as one line, with its end."""
    line = record.model_dump_json().encode()
    return line[:-1] + b',"check":"%08x"}\n' % _check_of(line, run_id)


def without_check(line: bytes, run_id: Callable[[], str]) -> tuple[bytes, bool]:
    """The record's JSON, and whether there was a check, which earlier versions did not write. ValueError: it does
    not fit.
    """
    body = line.rstrip(b"\n")
    found = _CHECK.search(body)
    if not found:
        return body, False
    body = body[: found.start()] + b"}"
    if int(found[1], 16) != _check_of(body, run_id()):
        raise ValueError("it does not fit its check, or is of another run")
    return body, True


def _check_of(body: bytes, run_id: str) -> int:
    return zlib.crc32(body, zlib.crc32(run_id.encode()))
