"""Reads risky files one after the other, within bounds: `python -m harness.datasets.folder.parser_process BYTES`.

A line of JSON on standard input names a file, a line on standard output is what came of it. A file that takes too
much memory or time ends the process, and nothing else.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from harness.core.bounded_files import open_plain
from harness.core.peak_memory import peak_rss_bytes
from harness.datasets.folder.docx import read_word
from harness.datasets.folder.html import read_html
from harness.datasets.folder.pdf import read_pdf
from harness.datasets.folder.text_cleanup import NoDocument, ReadText

Reader = Callable[[BinaryIO, Callable[[], None]], ReadText]
READERS: dict[str, tuple[str, Reader]] = {
    ".pdf": ("PDF", read_pdf),
    ".docx": ("Word", read_word),
    ".html": ("HTML", read_html),
    ".htm": ("HTML", read_html),
    ".xhtml": ("HTML", read_html),
}
"""By the end of a name: what it is called, and who reads it."""
MOST_MEMORY = 1_000_000_000
"""Bytes of data of a process; where a system does not hold it to them, the machine does."""
STEP_S, FILE_S = 60, 900
"""Seconds of processor time that a step, such as a page, and a whole file may take."""
MOST_BYTES = 500_000_000
_MOST_DEEP = 3000
"""Nested objects of a PDF."""
_DIED = {"died": True}


def main() -> None:
    """Answer until there is no more to read."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Whatever a library prints.
    logging.disable()
    sys.setrecursionlimit(_MOST_DEEP)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _limit(resource.RLIMIT_DATA, int(sys.argv[1]))
    for line in sys.stdin:
        wanted = json.loads(line)
        answer = json.dumps(_answer(Path(os.fsdecode(wanted["path"].encode("latin-1"))), wanted["kind"]))
        answers.write(answer + "\n")
        answers.flush()


def _answer(path: Path, kind: str) -> dict[str, Any]:
    name, reader = READERS[kind]
    ends = time.process_time() + FILE_S

    def at_work() -> None:
        spent = time.process_time()
        _limit(resource.RLIMIT_CPU, int(min(spent + STEP_S, ends)) + 1)

    at_work()
    try:
        with open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            if not 0 < size <= MOST_BYTES:
                return {"why": f"longer than {MOST_BYTES:,} bytes" if size else "without text"}
            return asdict(reader(file, at_work))
    except NoDocument as error:
        return {"why": str(error)}
    except OSError as error:
        return {"why": f"cannot be read ({error.strerror})" if error.strerror else f"no intact {name} file"}
    except MemoryError:
        return _DIED
    except Exception:  # Its parser stumbles over what no such file holds, or over the end of the memory.
        return _DIED if _is_full() else {"why": f"no intact {name} file"}


def _limit(what: int, most: int) -> None:
    """Of this process, unless whoever started it allows less."""
    _, hard = resource.getrlimit(what)
    resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _is_full() -> bool:
    """Whether most of the memory was taken: libraries in C call it a mistake in the file when they get no more."""
    return peak_rss_bytes() > 0.7 * resource.getrlimit(resource.RLIMIT_DATA)[0]


if __name__ == "__main__":
    main()
