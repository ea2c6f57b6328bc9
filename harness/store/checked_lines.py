"""Lines of growing files, each with a checksum that also covers the run id."""

import re
import zlib
from collections.abc import Callable

from pydantic import BaseModel

_CHECK = re.compile(rb',"check":"([0-9a-f]{8})"\}$')


def with_check(record: BaseModel, run_id: str) -> bytes:
    """The record as a line with checksum and line break."""
    line = record.model_dump_json().encode()
    return line[:-1] + b',"check":"%08x"}\n' % _check_of(line, run_id)


def without_check(line: bytes, run_id: Callable[[], str]) -> bytes:
    """The JSON of a line. ValueError if it has no checksum, or does not match it."""
    found = _CHECK.search(line.rstrip(b"\n"))
    if not found:
        raise ValueError("it has no checksum")
    body = line[: found.start()] + b"}"
    if int(found[1], 16) != _check_of(body, run_id()):
        raise ValueError("it does not match its checksum, or belongs to another run")
    return body


def _check_of(body: bytes, run_id: str) -> int:
    return zlib.crc32(body, zlib.crc32(run_id.encode()))
