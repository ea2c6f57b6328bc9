"""resources.csv: CPU and RAM of the machine, the system's processes and the model server during a run."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from pathlib import Path
from statistics import mean, median

from harness.core.bounded_files import open_plain
from harness.core.errors import StoreError, explained_io

QUANTITIES = (
    "machine_cpu_percent",
    "machine_ram_bytes",
    "system_cpu_percent",
    "system_rss_bytes",
    "server_cpu_percent",
    "server_rss_bytes",
    "database_cpu_percent",
    "database_rss_bytes",
)
NOT_SAMPLED = "not sampled"
"""In place of a number: the server exists, but its process is on another machine or not accessible."""
PHASES = ("index", "answer")
_FEWEST_SAMPLES = 5
"""Of a share of the CPU: the first sample of a process is 0, whatever it did."""
_YEAR_2286 = 1e10
_MOST_BYTES = 1 << 28
_GAP_INTERVALS = 5
_SHORTEST_GAP_S = 10.0


@dataclass(frozen=True)
class ResourceSample:
    """One line; None for what was not measured (such as a server on another machine)."""

    time_s: float
    phase: str
    quantities: tuple[float | None, ...]
    """In the order of `QUANTITIES`."""


@dataclass(frozen=True)
class Resources:
    """The samples in the order taken."""

    samples: tuple[ResourceSample, ...]
    n_damaged: int
    """Lines that a crash left incomplete, which are ignored."""
    not_sampled: frozenset[str] = frozenset()
    """`QUANTITIES` of servers that were used and whose processes were not visible."""

    def values(self, quantity: str, phase: str) -> list[float]:
        column = QUANTITIES.index(quantity)
        found = (sample.quantities[column] for sample in self.samples if sample.phase == phase)
        return [value for value in found if value is not None]

    def foreign_cpu(self, phase: str, cores: int) -> float | None:
        """Mean share of the machine's CPU that processes of none of its runs used, in per cent. None: unknown."""
        machine = QUANTITIES.index("machine_cpu_percent")
        own = [QUANTITIES.index(f"{who}_cpu_percent") for who in ("system", "server", "database")]
        rows = [one.quantities for one in self.samples if one.phase == phase]
        if not cores or any(name.endswith("cpu_percent") for name in self.not_sampled):
            return None
        left = [whole - sum(row[at] or 0.0 for at in own) / cores for row in rows if (whole := row[machine])]
        return max(0.0, mean(left)) if len(left) >= _FEWEST_SAMPLES else None

    def sessions(self) -> list[list[ResourceSample]]:
        """The samples split at interruptions: gaps of over 10 s and 5 intervals."""
        if not self.samples:
            return []
        steps = [later.time_s - earlier.time_s for earlier, later in pairwise(self.samples)]
        longest = max(_SHORTEST_GAP_S, _GAP_INTERVALS * median(steps)) if steps else _SHORTEST_GAP_S
        sessions = [[self.samples[0]]]
        for step, sample in zip(steps, self.samples[1:], strict=True):
            if not 0 <= step <= longest:
                sessions.append([])
            sessions[-1].append(sample)
        return sessions


def load_resources(path: Path) -> Resources:
    """Read resources.csv. An incomplete line, and one that was appended to it, are ignored and counted."""
    with explained_io("read", path), open_plain(path) as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        fix = "delete it: the report then leaves out CPU and RAM"
        raise StoreError(f"{path} is longer than {_MOST_BYTES:,} bytes", fix)
    lines = content.decode("utf-8", errors="replace").splitlines()
    rows = [next(csv.reader([line])) for line in lines if line and not line.startswith("time_s,")]
    parsed = [parse_sample(fields) for fields in rows]
    samples = tuple(sample for sample in parsed if sample is not None)
    unseen = {
        name
        for fields, sample in zip(rows, parsed, strict=True)
        for name, text in zip(QUANTITIES, fields[2:], strict=False)
        if sample and text == NOT_SAMPLED
    }
    return Resources(samples, len(parsed) - len(samples), frozenset(unseen))


def parse_sample(fields: Sequence[str]) -> ResourceSample | None:
    """The sample in the fields of a line; None if the line is damaged."""
    if len(fields) != 2 + len(QUANTITIES):
        return None
    try:
        time_s = float(fields[0])
        quantities = tuple(None if text in {"", NOT_SAMPLED} else float(text) for text in fields[2:])
    except ValueError:
        return None
    # A number that is too large was appended to an incomplete one.
    plausible = 0 < time_s < _YEAR_2286 and all(value is None or isfinite(value) for value in quantities)
    return ResourceSample(time_s, fields[1], quantities) if plausible and fields[1] in PHASES else None
