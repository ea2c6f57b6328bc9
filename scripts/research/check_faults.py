"""Does every query end in an answer or an explicit failure if a fifth of all replies are faulty, and how fast?

A server over real HTTP (`harness.models.fake_server`) draws a fault for every request: refusals, 500, 502 and 503,
slow replies, connections that are reset, bodies that are damaged, decompression bombs or endless, invalid headers,
replies cut off or in parts, impossible usage. `rag-harness run` runs against it in its own process, as a user
calls it, and once more without any fault.

`faults` counts replies that were no answer: slow, truncated, partial or miscounted replies are still answers. The
wall time is compared with the run without faults.

Examples:
  .venv/bin/python scripts/research/check_faults.py
  .venv/bin/python scripts/research/check_faults.py --share 0.4 --repeats 1
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from common import command_line, machine, print_table, started

from harness.models.fake_model import FakeScript
from harness.models.fake_server import FakeServer
from harness.store import find_runs

KINDS = (
    *("http_429", "http_500", "http_502", "http_503", "slow", "reset", "truncated", "malformed", "gzip_bomb"),
    *(
        "endless",
        "bad_header",
        "length",
        "list_content",
        "no_usage",
        "usage_negative",
        "usage_huge",
        "usage_float",
    ),
)
HEADER = ("share of faults", "queries", "ok", "failed", "calls", "faults", "wall s", "exit")


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--share", type=float, default=0.2, help="share of faulty replies (default 0.2)")
    parser.add_argument("--per-type", type=int, default=10, help="queries of each type (default 10)")
    parser.add_argument("--repeats", type=int, default=5, help="repeats of each query (default 5)")
    parser.add_argument("--system", default="naive", help="default naive")
    parser.add_argument("--seed", type=int, default=0, help="seed of the faults (default 0)")
    chosen = parser.parse_args()
    rows, failures = [], Counter[str]()
    for share in (0.0, chosen.share):
        row, failed = _row(share, chosen)
        rows.append(row)
        failures += failed
    print_table(HEADER, rows)
    for reason, number in failures.most_common():
        print(f"{number} x {reason}")
    print(f"\n{len(KINDS)} kinds, {machine()}")


def _row(share: float, chosen: Any) -> tuple[tuple[str, ...], Counter[str]]:
    faults = {kind: share / len(KINDS) for kind in KINDS} if share else {}
    script = FakeScript(faults=faults, retry_after_s=0.5, slow_s=1.0, latency_s=0.05, seed=chosen.seed)
    with tempfile.TemporaryDirectory() as folder, FakeServer(script) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        began = time.monotonic()
        done = subprocess.run(
            _command(server, folder, chosen),
            env={**os.environ, "RAG_HARNESS_CACHE": f"{folder}/cache"},
            capture_output=True,
            text=True,
            check=False,
        )
        wall_s = time.monotonic() - began
        server.shutdown()
        if "Traceback" in done.stderr or not done.stdout:
            sys.exit(f"{done.stdout}\n{done.stderr}")
        (made,) = json.loads(done.stdout)["runs"]
        (run,) = find_runs(Path(folder), [made["run_id"]])
        failed = Counter(
            f"{record.failure.kind}: {record.failure.message}"[:150]
            for record in run.iter_records()
            if record.failure
        )
        served = server.model.served
    counted = (made["n_ok"] + failed.total(), made["n_ok"], failed.total(), served["calls"], served["faults"])
    return (f"{share:.0%}", *map(str, counted), f"{wall_s:.1f}", str(done.returncode)), failed


def _command(server: FakeServer, folder: str, chosen: Any) -> list[str]:
    settings = {
        "systems": f"[{chosen.system}]",
        "dataset.name": "demo",
        "dataset.sample.per_type": chosen.per_type,
        "repeats": chosen.repeats,
        "models.generator.provider": "openai-compatible",
        "models.generator.model": "fake",
        "models.generator.base_url": server.base_url,
        "models.generator.timeout_s": 10,
        "models.embedder.provider": "fake",
        "limits.concurrency": 4,
    }
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    return [
        sys.executable,
        "-m",
        "harness.cli.main",
        "run",
        "--json",
        "--records-only",
        "--results",
        folder,
        *words,
    ]


if __name__ == "__main__":
    started(main)
