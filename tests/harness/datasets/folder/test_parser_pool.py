"""Risky files in processes of their own."""

from pathlib import Path

import pytest
from made_files import pdf, word

from harness.datasets.folder import parser_process
from harness.datasets.folder.parse_cache import parse_all
from harness.datasets.folder.reading import KINDS
from harness.datasets.folder.text_cleanup import NoDocument


@pytest.mark.slow
def test_a_file_that_is_too_much_for_a_process_is_skipped_and_the_others_are_read(tmp_path: Path) -> None:
    contents = {
        "a.pdf": pdf(["one"]),
        "bomb.html": b"<p>x" * 1_500_000,  # A few megabytes are a tree of several hundred.
        "c.docx": word([("Normal", "three")]),
        "d.pdf": b"%PDF-1.7 nothing",
        "e.html": b"",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    files = {name: (tmp_path / name, Path(name).suffix) for name in contents}
    parsed = parse_all(files, most_memory=200_000_000)
    found = {name: str(one) if isinstance(one, NoDocument) else one[0].text for name, one in parsed}
    assert found == {
        "a.pdf": "one\n",
        "bomb.html": "takes too much memory to read",
        "c.docx": "three",
        "d.pdf": "damaged PDF file",
        "e.html": "without text",
    }


def test_every_format_that_is_parsed_is_one_that_is_read() -> None:
    assert set(parser_process.READERS) < set(KINDS)
