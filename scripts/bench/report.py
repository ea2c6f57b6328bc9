"""How long does report.html take to write and to use, and how large is it, at 9 systems x 2,556 queries?

Makes realistic runs in a temporary folder: with questions, references and contexts of MultiHop-RAG if
RAG_HARNESS_DATA is set, else with generated ones. Passages are cut from the articles with two chunk sizes; systems
share most of them. Some also retrieve triplets, one retrieves nothing. Answers, traces, times, about 50 measures
and their explanations are generated. No model is called.

The report is written in a separate process, whose time and peak memory are printed, and opened in Chromium. Filter
and query times run from the change of a control to the frame after the list or the query is shown.

Examples:
  RAG_HARNESS_DATA=data .venv/bin/python scripts/bench/report.py        # 1,081,188 scores
  .venv/bin/python scripts/bench/report.py --queries 500 --systems 4 --no-browser
  .venv/bin/python scripts/bench/report.py --queries 500 --systems 4 --keep /tmp/report
"""

from __future__ import annotations

import base64
import json
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benching import command_line, import_from_tests, machine, print_table, started


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--systems", type=int, default=9, help="how many runs (default and at most 9)")
    parser.add_argument("--queries", type=int, default=2556, help="how many queries (default 2,556)")
    parser.add_argument("--no-browser", action="store_true", help="do not open it")
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
        n_scores = sum(_lines_of(run.path / "scores") for run in runs)
        made = f"{len(runs)} runs of {chosen.queries:,} queries with {n_scores:,} scores"
        print(f"{made} made in {taken:.0f} s\n", flush=True)
        page = write(folder, runs)
        if not chosen.no_browser:
            print_table(("what", "ms"), used(page))


def _lines_of(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("*.jsonl"))


# The report


def write(folder: Path, runs: list[Any]) -> Path:
    """Run `rag-harness report`; print its time, its output size and its peak memory."""
    began, out = time.perf_counter(), folder / "report"
    command = [Path(sys.executable).with_name("rag-harness"), "report", *[run.path for run in runs], "--out", out]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    taken = time.perf_counter() - began
    if done.returncode:
        sys.exit(f"rag-harness report ended with exit code {done.returncode}")
    page = out / "report.html"
    if not page.exists():
        sys.exit("rag-harness report wrote no report.html")
    taken_of = resource.getrusage(resource.RUSAGE_CHILDREN)
    megabytes, processor_s = taken_of.ru_maxrss / 1000, taken_of.ru_utime + taken_of.ru_stime
    explorer, detailed = inside(page)
    header = ("written in", "processor", "peak memory", "file", "its explorer", "queries with details")
    sizes = f"{megabytes:,.0f} MB", f"{page.stat().st_size / 1e6:.2f} MB", f"{explorer:.2f} MB"
    print_table(header, [(f"{taken:.0f} s", f"{processor_s:.0f} s", *sizes, f"{detailed:,}")])
    print()
    return page


def inside(page: Path) -> tuple[float, int]:
    """Megabytes of the first group's blocks, and how many of its queries have details."""
    found = re.findall(r'<script type="application/octet-stream" id="(g0-[\w-]+)">([^<]*)<', page.read_text())
    blocks = dict(found)
    core = json.loads(zlib.decompress(base64.b64decode(blocks["g0-core"])))
    return sum(map(len, blocks.values())) / 1e6, core["detailed"]


# Using the report

_TIMED = """async ([select, value]) => {
  const root = document.querySelector('[data-explorer]');
  const control = root.querySelector(select);
  const began = performance.now();
  const shown = new Promise((done) => root.addEventListener('explorer-shown', done, {once: true}));
  control.value = value;
  control.dispatchEvent(new Event(control.tagName === 'INPUT' ? 'input' : 'change', {bubbles: true}));
  await shown;
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  return performance.now() - began;
}"""
_OPENED = """async (at) => {
  const root = document.querySelector('[data-explorer]');
  const dialog = root.querySelector('dialog');
  const row = root.querySelectorAll('tbody tr[data-at]')[at];
  const began = performance.now();
  const before = dialog.dataset.query;
  row.querySelector('button').click();
  while (dialog.dataset.query === before) await new Promise((done) => setTimeout(done, 1));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  const took = performance.now() - began;
  dialog.close();
  return took;
}"""


def used(page_path: Path) -> Iterator[tuple[str, str]]:
    """Interactions of a reader, and their milliseconds."""
    from chromium import executable, launched

    with launched(executable()) as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(page_path.as_uri())
        page.wait_for_selector("[data-explorer][data-ready]", timeout=60_000)
        paint, load, ready = page.evaluate(
            """() => [performance.getEntriesByName('first-contentful-paint')[0].startTime,
              performance.getEntriesByType('navigation')[0].loadEventEnd, performance.now()]"""
        )
        yield "first contentful paint", f"{paint:.0f}"
        yield "load", f"{load:.0f}"
        yield "explorer ready", f"< {ready:.0f}"
        times = [page.evaluate(_TIMED, list(change)) for change in changes()]
        yield f"filter, median and slowest of {len(times)}", told(times)
        measures = page.locator(".ex-field-measure option").evaluate_all("all => all.map((one) => one.value)")
        page.evaluate(_TIMED, [".ex-field-relation select", "all"])
        times = [page.evaluate(_TIMED, [".ex-field-measure select", value]) for value in measures[1:11]]
        yield f"another measure, median and slowest of {len(times)}", told(times)
        page.evaluate(_TIMED, [".ex-field-measure select", measures[0]])
        # The queries on which A leads are scattered over the whole list.
        page.evaluate(_TIMED, [".ex-field-order select", "ahead"])
        rows = page.locator("tbody tr[data-at]").count()
        times = [page.evaluate(_OPENED, at) for at in range(0, rows, max(1, rows // 20))][:20]
        yield f"open a query, median and slowest of {len(times)}", told(times)


def changes() -> Iterator[tuple[str, str]]:
    """Twenty changes of the filters, each with a different result."""
    relations = ("rightWrong", "wrongRight", "bothRight", "bothWrong", "better", "worse", "differ", "all")
    yield from ((".ex-field-relation select", value) for value in relations)
    yield from ((".ex-field-words input", value) for value in ("a", "google", "the company", "zzz", ""))
    yield from ((".ex-field-type select", value) for value in ("0", "1", ""))
    yield from ((".ex-field-status select", value) for value in ("abstained", ""))
    yield from ((".ex-field-order select", value) for value in ("ahead", "asked"))


def told(times: list[float]) -> str:
    return f"{statistics.median(times):.0f}, {max(times):.0f}"


if __name__ == "__main__":
    started(main)
