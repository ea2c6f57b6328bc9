"""Tables of cases that lie beside the tests that read them."""

import csv
from pathlib import Path


def rows_of(test: str, name: str) -> list[dict[str, str]]:
    """The rows of a CSV file in the folder of a test, given its `__file__`."""
    with Path(test).with_name(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
