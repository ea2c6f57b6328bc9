"""Parses risky files one at a time, within limits: `python -m harness.datasets.folder.parser_process BYTES`.

Each line of JSON on standard input names a file; a line on standard output is the result. A file that exceeds the
memory or time limit ends only this process.
"""

from __future__ import annotations

import io
import json
import logging
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from harness.core.bounded_files import open_plain
from harness.core.current_process import peak_rss_bytes
from harness.datasets.folder.docx import read_word
from harness.datasets.folder.eml import read_message
from harness.datasets.folder.html import read_html
from harness.datasets.folder.pdf import read_pdf
from harness.datasets.folder.plain_text import PLAIN
from harness.datasets.folder.pptx import read_slides
from harness.datasets.folder.spreadsheets import read_delimited, read_workbook
from harness.datasets.folder.text_cleanup import NoDocument, ReadText

Reader = Callable[[BinaryIO, Callable[[], None]], ReadText | Sequence[ReadText]]


def _read_message(file: BinaryIO, at_work: Callable[[], None]) -> Sequence[ReadText]:
    def read_attachment(kind: str, content: bytes) -> Sequence[ReadText]:
        if kind in PLAIN:
            return [PLAIN[kind](content)]
        if kind not in READERS:
            raise NoDocument(f"unsupported kind: {kind}")
        return _listed(READERS[kind][1](io.BytesIO(content), at_work))

    return read_message(file, at_work, read_attachment)


def _listed(read: ReadText | Sequence[ReadText]) -> Sequence[ReadText]:
    return [read] if isinstance(read, ReadText) else read


READERS: dict[str, tuple[str, Reader]] = {
    ".pdf": ("PDF", read_pdf),
    ".docx": ("Word", read_word),
    ".pptx": ("PowerPoint", read_slides),
    ".xlsx": ("Excel", read_workbook),
    ".xlsm": ("Excel", read_workbook),
    ".csv": ("CSV", read_delimited),
    ".tsv": ("TSV", partial(read_delimited, delimiter="\t")),
    ".eml": ("message", _read_message),
    ".html": ("HTML", read_html),
    ".htm": ("HTML", read_html),
    ".xhtml": ("HTML", read_html),
}
"""By file extension: display name and reader."""
MOST_MEMORY = 1_000_000_000
"""Memory limit of a process in bytes; some systems do not enforce it."""
STEP_S, FILE_S = 60, 900
"""CPU seconds for one step, such as a page, and for a whole file."""
MOST_BYTES = 500_000_000
_DIED = {"died": True}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Discard what libraries print.
    logging.disable()
    sys.setrecursionlimit(3000)  # For nested objects of a PDF.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _limit(resource.RLIMIT_DATA, int(sys.argv[1]))
    for line in sys.stdin:
        wanted = json.loads(line)
        answer = _answer(Path(os.fsdecode(wanted["path"].encode("latin-1"))), wanted["kind"])
        answers.write(json.dumps(answer) + "\n")
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
            return {"documents": [asdict(one) for one in _listed(reader(file, at_work))]}
    except NoDocument as error:
        return {"why": str(error)}
    except OSError as error:
        return {"why": f"cannot be read ({error.strerror})" if error.strerror else f"damaged {name} file"}
    except MemoryError:
        return _DIED
    except Exception:  # The parser fails on damaged files, or out of memory.
        # Memory is nearly exhausted: C libraries report that as an error in the file.
        is_full = peak_rss_bytes() > 0.7 * resource.getrlimit(resource.RLIMIT_DATA)[0]
        return _DIED if is_full else {"why": f"damaged {name} file"}


def _limit(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


if __name__ == "__main__":
    main()
