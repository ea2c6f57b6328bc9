"""How much faster are the KG-based scores than Algorithms 1-3 as they are written?

The fast path is `scores_of` a graph: all scores, Louvain with 10 seeds once. The transcription is on networkx, in
tests/support/kg_oracle.py. Each of Algorithm 2, Formula 2 and Algorithm 3 builds its own graph, and the last two
run Louvain with 10 seeds each; a similarity is one numpy product. Two parts are measured once and counted as often
as they run: the graph (3 times) and networkx's Louvain (20 times the mean of the runs that end within the limit).
That does not end at all on some weighted graphs, so there is a second ratio, with igraph's Louvain in both.

Triplets are made up: a few entities are in many of them, a third of the context's resemble one of the input. Where
there are more pairs than --pairs, the transcription measures its similarities on a part of the input entities,
scales the seconds up and takes the SIMILAR edges from the fast path; the table says so (~).

Vectors and triplets are there beforehand in both. Extraction by a judge model is a call a text: seconds each,
which is the real cost.

Each measurement is a process of its own with numpy on one thread; memory is its peak above what it held once all
was imported and made up. Seconds are the best of as many runs as two seconds hold.

Examples:
  .venv/bin/python scripts/bench/kg_scores.py
  .venv/bin/python scripts/bench/kg_scores.py --sizes 8/60 30/300 --limit 20
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from benching import in_own_process
from common import command_line, import_from_tests, machine, print_table, started

SIZES = ("8/60", "30/300", "100/1500", "300/6000", "1000/20000")
SEEDS, BUILDS, TAU, DELTA = 10, 3, 0.7, 0.5
HEADER = ("triplets", "entities", "SIMILAR", "fast path", "MB", "transcription", "MB", "ratio", "both with igraph")
Measured = dict[str, Any]


class Task(NamedTuple):
    inputs: int
    contexts: int
    pairs: int
    """Maximum similarities that the transcription computes."""


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--sizes", nargs="+", default=SIZES, metavar="I/C", help="input and context triplets")
    parser.add_argument(
        "--limit", type=float, default=30, help="seconds for networkx's Louvain, a size (default 30)"
    )
    parser.add_argument("--pairs", type=int, default=3_000_000, help="similarities at most (default 3,000,000)")
    chosen = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    import_from_tests()
    print(f"{machine()}; {SEEDS} seeds\n")
    sizes = (size.split("/") for size in chosen.sizes)
    print_table(HEADER, (row(Task(int(one), int(other), chosen.pairs), chosen.limit) for one, other in sizes))


def row(task: Task, limit: float) -> Sequence[str]:
    fast, slow = in_own_process(fast_path, task), in_own_process(transcription, task)
    louvain = in_own_process(networkx_louvain, task, limit)
    rest = slow["graph"] * BUILDS + slow["multi_hop"]
    same = rest + slow["louvain"]
    about = "~" if slow["estimated"] else ""
    if louvain["runs"]:
        whole = rest + 2 * SEEDS * louvain["seconds"] / louvain["runs"]
        told, ratio = about + seconds(whole), f"{about}{whole / fast['seconds']:,.0f}x"
    else:
        told, ratio = f"Louvain did not end within {limit:g} s", f"> {(rest + limit) / fast['seconds']:,.0f}x"
    sizes = f"{task.inputs:,} / {task.contexts:,}", "{:,} / {:,}".format(*fast["entities"]), f"{fast['similar']:,}"
    ours = seconds(fast["seconds"]), f"{fast['mb']:.0f}"
    theirs = told, f"{max(slow['mb'], louvain['mb']):.0f}", ratio
    return *sizes, *ours, *theirs, f"{about}{seconds(same)}, {about}{same / fast['seconds']:,.0f}x"


def seconds(value: float) -> str:
    return f"{value * 1000:,.1f} ms" if value < 1 else f"{value:,.1f} s"


# What is measured, each in a process of its own


def fast_path(task: Task) -> Measured:
    import igraph  # noqa: F401 - loaded before the clock starts
    from kg_samples import connected, sample

    from harness.evaluators.kg.graphs.scores import scores_of

    made, start = sample(task.inputs, task.contexts), resident("VmRSS")
    taken = best(lambda: scores_of(connected(made.inputs, made.contexts, made.embed, TAU), DELTA, SEEDS))
    mb = resident("VmHWM") - start
    graph = connected(made.inputs, made.contexts, made.embed, TAU)
    entities = len(graph.inputs.labels), len(graph.contexts.labels)
    return {"seconds": taken, "mb": mb, "entities": entities, "similar": len(graph.pairs.inputs)}


def transcription(task: Task) -> Measured:
    import kg_oracle as oracle

    known, start = made_up(task), resident("VmRSS")
    graph, taken, estimated = graph_of(task, *known)
    communities = [oracle.community, oracle.community_coverage]
    found = {
        "graph": taken,
        "multi_hop": best(lambda: oracle.multi_hop(graph, DELTA)),
        "louvain": best(
            lambda: [oracle.over_seeds(graph, one, oracle.igraph_louvain, SEEDS) for one in communities]
        ),
        "estimated": estimated,
    }
    return {**found, "mb": resident("VmHWM") - start}


def networkx_louvain(task: Task, limit: float) -> Measured:
    """The runs that end within so many seconds, since the next may not end."""
    import kg_oracle as oracle

    known, start = made_up(task), resident("VmRSS")
    graph, _, _ = graph_of(Task(task.inputs, task.contexts, 0), *known)
    ended: list[float] = []

    def stop(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit)
    began = time.perf_counter()
    with suppress(TimeoutError):
        for run in range(1, SEEDS + 1):
            oracle.community(graph, oracle.networkx_louvain(graph, run))
            ended.append(time.perf_counter() - began)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return {"runs": len(ended), "seconds": max(ended, default=limit), "mb": resident("VmHWM") - start}


def made_up(task: Task) -> tuple[Any, Any, Any]:
    from kg_samples import sample

    made = sample(task.inputs, task.contexts)
    return made.inputs, made.contexts, {label: vector.astype(float) for label, vector in made.vectors.items()}


def graph_of(task: Task, inputs: Any, contexts: Any, known: Any) -> tuple[Any, float, bool]:
    """Algorithm 1's graph, its seconds, and whether they were scaled up from a part of the pairs."""
    import kg_oracle as oracle

    from harness.evaluators.kg.graphs.graph import TripletSide, connect

    sides = TripletSide.of(inputs), TripletSide.of(contexts)
    rows, columns = (len(side.labels) for side in sides)
    if rows * columns <= task.pairs:
        graph = oracle.build_graph(inputs, contexts, known, TAU)
        return graph, best(lambda: oracle.build_graph(inputs, contexts, known, TAU)), False
    similar = connect(*sides, known, TAU).similar_edges()
    start = time.perf_counter()
    graph = oracle.nx.DiGraph()
    oracle.add_triplets(graph, inputs, "input", "_in")
    oracle.add_triplets(graph, contexts, "context", "_ctx")
    for one, other, likeness in similar:
        graph.add_edge(f"{one}_in", f"{other}_ctx", kind="SIMILAR", weight=likeness, cost=1 - likeness)
    nodes = time.perf_counter() - start
    part = sides[0].labels[: task.pairs // columns]
    start = time.perf_counter()
    for one in part:
        for other in sides[1].labels:
            oracle.cosine(known[one], known[other])
    pairs = (time.perf_counter() - start) * rows / max(1, len(part))
    return graph, nodes + pairs, True


def best(work: Callable[[], object]) -> float:
    """The fewest seconds of the runs that fit into two seconds, and at least one."""
    taken: list[float] = []
    while sum(taken) < 2:
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def resident(what: str) -> float:
    """VmRSS (now) or VmHWM (peak) of this process, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 1024


if __name__ == "__main__":
    started(main)
