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


def without_check(line: bytes, run_id: Callable[[], str]) -> tuple[bytes, bool]:
    """The JSON of a line, and whether it had a checksum (earlier versions wrote none). ValueError if it does not
    match.
    """
    body = line.rstrip(b"\n")
    found = _CHECK.search(body)
    if not found:
        return body, False
    body = body[: found.start()] + b"}"
    if int(found[1], 16) != _check_of(body, run_id()):
        raise ValueError("it does not match its checksum, or belongs to another run")
    return body, True


def _check_of(body: bytes, run_id: str) -> int:
    return zlib.crc32(body, zlib.crc32(run_id.encode()))
