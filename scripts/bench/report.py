"""How long does report.html take to write, and how large is it, at 9 systems x 2,556 queries?

Makes realistic runs in a temporary folder: with questions, references and contexts of MultiHop-RAG if
RAG_HARNESS_DATA is set, else with generated ones. Passages are cut from the articles with two chunk sizes; systems
share most of them. Some also retrieve triplets, one retrieves nothing. Answers, traces, times, about 50 measures
and their explanations are generated. No model is called.

The report is written in a separate process, whose time and peak memory are printed.

Examples:
  RAG_HARNESS_DATA=data .venv/bin/python scripts/bench/report.py        # 1,081,188 scores
  .venv/bin/python scripts/bench/report.py --queries 500 --systems 4
  .venv/bin/python scripts/bench/report.py --queries 500 --systems 4 --keep /tmp/report
"""

import base64
import json
import re
import sys
import tempfile
import time
import zlib
from pathlib import Path

from benching import HARNESS, ended
from common import command_line, import_from_tests, machine, print_table, started

HEADER = ("written in", "processor", "peak memory", "file", "its explorer", "queries with details")


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--systems", type=int, default=9, help="how many runs (default and at most 9)")
    parser.add_argument("--queries", type=int, default=2556, help="how many queries (default 2,556)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the runs and the report there")
    chosen = parser.parse_args()
    import_from_tests()
    from large_runs import SYSTEMS, make_runs

    print(machine())
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.keep or Path(temporary)
        began = time.perf_counter()
        runs = make_runs(folder / "results", SYSTEMS[: chosen.systems], chosen.queries)
        taken = time.perf_counter() - began
        scores = [path for run in runs for path in (run.path / "scores").glob("*.jsonl")]
        n_scores = sum(path.read_bytes().count(b"\n") for path in scores)
        made = f"{len(runs)} runs of {chosen.queries:,} queries with {n_scores:,} scores"
        print(f"{made} made in {taken:.0f} s\n", flush=True)
        print_table(HEADER, [written(folder / "report", [run.path for run in runs])])


def written(out: Path, runs: list[Path]) -> list[str]:
    """Run `rag-harness report`: its time, its peak memory and the size of what it wrote."""
    took, page = ended([HARNESS, "report", *runs, "--out", out]), out / "report.html"
    if not page.exists():
        sys.exit("rag-harness report wrote no report.html")
    explorer, detailed = inside(page)
    times = f"{took.wall_s:.0f} s", f"{took.cpu_s:.0f} s", f"{took.peak_bytes / 1e6:,.0f} MB"
    return [*times, f"{page.stat().st_size / 1e6:.2f} MB", f"{explorer:.2f} MB", f"{detailed:,}"]


def inside(page: Path) -> tuple[float, int]:
    """Megabytes of the first group's blocks, and how many of its queries have details."""
    found = re.findall(r'<script type="application/octet-stream" id="(g0-[\w-]+)">([^<]*)<', page.read_text())
    blocks = dict(found)
    core = json.loads(zlib.decompress(base64.b64decode(blocks["g0-core"])))
    return sum(map(len, blocks.values())) / 1e6, core["detailed"]


if __name__ == "__main__":
    started(main)
