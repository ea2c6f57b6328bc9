"""K. Ramadan's master's thesis (KTH, 2025): four architectures on MultiHop-RAG, accuracy against cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from harness.core.bounded_files import read_plain
from harness.core.hashing import flatten
from harness.core.records import Triplet
from harness.display import Entry, Quantity, Table, printable
from harness.display.text_format import type_name
from harness.extensions.reproduce import drawing
from harness.extensions.reproduce.paper import Item, NotMade, Paper, PaperRuns, item_table
from harness.report.quantities import amount, share
from harness.report.tables.costs import percent_of_ram
from harness.report.view import RunView
from harness.statistics.resource_usage import QUANTITIES
from harness.statistics.run_frame import OVERALL
from harness.store.index_dir import IndexDir

if TYPE_CHECKING:
    from networkx import Graph

    from harness.statistics.run_frame import Aggregate

_SYSTEMS = ("naive", "recursive", "community", "kg")
"""In the order of the thesis's figures."""
_MOST_TRIPLETS = 16
_MOST_BYTES = 1 << 28
_BERTSCORE = {part: f"bertscore_text_{part}" for part in ("precision", "recall", "f1")}
_RAGAS = {
    "precision without reference": "ragas_context_precision_no_reference",
    "precision": "ragas_context_precision",
    "recall": "ragas_context_recall",
}


def _views(runs: PaperRuns) -> dict[str, RunView]:
    """The run of each system, community's with global search."""
    modes = {"community": {"answer_mode": "global"}}
    found = {name: runs.views_of(name, **modes.get(name, {})) for name in _SYSTEMS}
    if not any(found.values()):
        raise NotMade("none of its systems was run")
    return {name: own[0] for name, own in found.items() if own}


def _measured(runs: PaperRuns, columns: dict[str, str], entry: Callable[[Aggregate | None], Entry]) -> Table:
    rows = [
        (name, *(entry(view.row(measure)) for measure in columns.values())) for name, view in _views(runs).items()
    ]
    return item_table(("system", *columns), rows)


def _by_type(views: dict[str, RunView], last: Sequence[str] = ()) -> Table:
    """`last`: more columns, after those of the query types."""
    types = sorted({kind for view in views.values() for kind in view.frame.query_types.values()})
    rows = [(name, *(share(view.row("accuracy", one)) for one in (*types, *last))) for name, view in views.items()]
    return item_table(("system", *map(type_name, types), *last), rows)


def _local_search(runs: PaperRuns) -> Table:
    return _by_type({"community, local": runs.view("community", answer_mode="local")}, [OVERALL])


def _evidence(runs: PaperRuns) -> Table:
    rows = next(iter(_views(runs).values())).sample.values()
    counts = Counter(len(row.reference.evidence or ()) for row in rows)
    shares = ((n, count, count / counts.total()) for n, count in sorted(counts.items()))
    return item_table(
        ("evidence items", "queries", "share"),
        ((str(n), Quantity(count, unit="count"), Quantity(part, unit="share")) for n, count, part in shares),
    )


def _parameters(runs: PaperRuns, *names: str) -> Table:
    views = {name: view for name, view in _views(runs).items() if name in names}
    if not views:
        raise NotMade(f"no run of {' or '.join(names)}")
    flat: dict[str, dict[str, str]] = {}
    for name, view in views.items():
        halves = {half: view.manifest.system.get(half, {}) for half in ("index", "answer")}
        flat[name] = {key: printable(str(value), 60) for key, value in flatten(halves).items()}
        flat[name] |= {f"{role} model": view.model(role) for role in ("generator", "embedder")}
    keys = dict.fromkeys(key for own in flat.values() for key in own)
    return item_table(("parameter", *flat), ((key, *(own.get(key, "") for own in flat.values())) for key in keys))


def _excerpt(runs: PaperRuns) -> Table:
    """The first triplets that kg retrieved: an excerpt of its graph."""
    found: dict[Triplet, str] = {}
    for view in runs.views_of("kg"):
        for record in view.run.iter_records():
            contexts = record.prediction.contexts if record.prediction else ()
            found |= {triplet: record.query_id for context in contexts for triplet in context.triplets}
            if len(found) >= _MOST_TRIPLETS:
                break
    if not found:
        raise NotMade("no answer of kg has a triplet in its contexts")
    return _triplet_table([(query, *triplet) for triplet, query in islice(found.items(), _MOST_TRIPLETS)], "query")


def _triplet_table(rows: Sequence[tuple[str, str, str, str]], first: str) -> Table:
    names = Counter(name for _, source, _, target in rows for name in (source, target))
    return item_table(
        (first, "source", "relation", "target", "triplets of the source"),
        ((*map(printable, row), Quantity(names[row[1]], unit="count")) for row in rows),
    )


def _community_graph(runs: PaperRuns) -> tuple[Graph, str]:
    """The graph of nano-graphrag, as it lies in the index, and its best connected entity."""
    try:
        import networkx
    except ImportError as error:
        raise NotMade("reading the graph needs networkx: pip install networkx") from error
    index = IndexDir(runs.evaluation.results, runs.view("community").manifest.index_id)
    path = index.path / "store" / "graph_chunk_entity_relation.graphml"
    try:
        graph = networkx.parse_graphml(read_plain(path, _MOST_BYTES).decode("utf-8"))
    except (OSError, ValueError) as error:
        raise NotMade(f"the graph of community cannot be read ({type(error).__name__})") from error
    if not graph.number_of_edges():
        raise NotMade("the graph of community has no relation")
    return graph, max(graph.nodes, key=lambda name: (graph.degree(name), name))


def _community_excerpt(runs: PaperRuns) -> Table:
    """The relations of the best connected entity and of its neighbours."""
    graph, name = _community_graph(runs)
    near = graph.edges([name, *graph.neighbors(name)], data=True)
    rows = [
        (str(data.get("source_id", "")), one, str(data.get("description", "")), other)
        for one, other, data in islice(near, _MOST_TRIPLETS)
    ]
    return _triplet_table(rows, "chunk")


def _passage_node(runs: PaperRuns) -> Table:
    """The document behind the first retrieved passage: what a node of the graph says about its origin."""
    for view in runs.views_of("kg"):
        for record in view.run.iter_records():
            for context in record.prediction.contexts if record.prediction else ():
                if context.kind == "passage":
                    rows = [("document", ", ".join(map(printable, context.doc_ids)))]
                    if span := context.span:
                        rows.append(("characters", f"{span.start}-{span.end}"))
                    rows.append(("text", printable(context.text, 300)))
                    return item_table(("property", "value"), rows)
    raise NotMade("no answer of kg has a passage in its contexts")


def _entity_node(runs: PaperRuns) -> Table:
    """What the graph says of its best connected entity."""
    graph, name = _community_graph(runs)
    properties = {"entity": name, **graph.nodes[name]}
    return item_table(("property", "value"), ((key, printable(str(own), 300)) for key, own in properties.items()))


def _resources(system: str, runs: PaperRuns) -> Table:
    view = _views(runs).get(system)
    if view is None:
        raise NotMade(f"no run of {system}")
    samples = [one for one in (view.resources.samples if view.resources else ()) if one.phase == "answer"]
    scale = percent_of_ram(view)
    if len(samples) < 2 or scale is None:
        raise NotMade(f"{len(samples)} samples of CPU and RAM: answering took less than two intervals of 2 s")
    cpu, ram = (QUANTITIES.index(name) for name in ("machine_cpu_percent", "machine_ram_bytes"))
    rows: list[tuple[Entry, ...]] = []
    for one in samples:
        used = one.quantities[ram]
        values = (round(one.time_s - samples[0].time_s, 1), one.quantities[cpu], used and scale * used)
        rows.append((system, *map(Quantity, values)))
    return item_table(("system", "seconds", "CPU of the machine, %", "RAM of the machine, %"), rows)


def _index_tokens(runs: PaperRuns) -> Table:
    """Tokens of the generator while the graph was built; those of the embedder beside."""
    rows: list[tuple[Entry, ...]] = []
    for name, view in _views(runs).items():
        counts = [view.value(f"index_generator_{kind}") for kind in ("input_tokens", "output_tokens", "tokens")]
        every = view.value("index_input_tokens")
        if counts[0] is not None and every is not None:
            rows.append((name, *(Quantity(n, unit="count") for n in (*counts, every - counts[0]))))
    if not rows:
        raise NotMade("no index was built by a model")
    return item_table(("system", "input tokens", "output tokens", "tokens", "embedder's tokens, besides"), rows)


_HERE: dict[str, object] = {"per_system.kg.index.store": "ladybug", "per_evaluator.bertscore": {"truncate": True}}
"""The graph store and the encoder that are always there; values of other encoders do not compare."""
_AN_HOUR: dict[str, object] = {
    # Graphs by rules and short prompts: with the thesis's own the model of this machine would read for days.
    "per_system.kg.index.extractor": "nlp",
    "per_system.community.index.extractor": "nlp",
    "per_system.community.index.reports": "rules",
    "per_system.community.index.report_tokens": 1000,
    "per_system.community.answer.context_tokens": 2000,
    "per_system.community.answer.max_reports": 16,
    # A judge call for each passage of each answer.
    "per_system.naive.answer.top_k": 3,
    "per_system.recursive.answer.rounds": 2,
    "per_system.recursive.answer.k_per_round": 2,
    "per_system.kg.answer.top_k": 2,
}
_SCRIPTED_ANSWERS = {
    r"(?s)(TechCrunch|Verge|Sporting).*\nAnswer:$": "Yes",
    r"(?s)\nAnswer:$": "Insufficient Information",
    r"(?s)---(Analyst Reports|Data tables)---": "Yes",
}
"""Prompt -> answer, so that accuracies differ between systems and types."""
_USD = {"index, USD": "index_usd", "USD a query": "usd"}
_TOKENS = {"tokens a query": "generator_tokens", "with the embedder's": "tokens"}

PAPER = Paper(
    name="thesis",
    citation="Ramadan, master's thesis, KTH 2025",
    configs=("thesis.yaml",),
    settings={
        "local": {"dataset.sample.per_type": 2, **_HERE, **_AN_HOUR},
        "scripted": {
            "dataset.sample.per_type": 4,
            **_HERE,
            "models.generator.options.replies": _SCRIPTED_ANSWERS,
            # Its answers take less than two of the usual intervals.
            "runner.resources_interval_s": 0.2,
            # A scripted reply has the form of a schema, and the library asks without one.
            "per_system.community.index.extractor": "bounded",
        },
    },
    items=(
        Item("table-4.1", "evidence items that the queries need", _evidence),
        Item(
            "table-4.2",
            "parameters of the vector-based systems",
            lambda runs: _parameters(runs, "naive", "recursive"),
        ),
        Item("table-4.3", "parameters of KG-Graph RAG", lambda runs: _parameters(runs, "kg")),
        Item("table-4.4", "parameters of Community-Graph RAG", lambda runs: _parameters(runs, "community")),
        Item("figure-4.4", "an excerpt of the knowledge graph", _excerpt, drawing.network, True),
        Item("table-4.5", "a passage of the knowledge graph", _passage_node),
        Item("figure-4.6", "an excerpt of the community graph", _community_excerpt, drawing.network, True),
        Item("table-4.6", "an entity of the community graph", _entity_node),
        Item(
            "figure-5.1", "accuracy", lambda runs: _measured(runs, {"accuracy": "accuracy"}, share), drawing.bars
        ),
        Item("figure-5.2", "accuracy by query type", lambda runs: _by_type(_views(runs)), drawing.bars),
        Item(
            "figure-5.3",
            "BERTScore of the contexts against the evidence",
            lambda runs: _measured(runs, _BERTSCORE, share),
            drawing.bars,
        ),
        Item(
            "figure-5.4", "RAGAS scores of the contexts", lambda runs: _measured(runs, _RAGAS, share), drawing.bars
        ),
        Item("figure-5.5", "accuracy of community with local search", _local_search, drawing.bars),
        Item(
            "figure-5.6",
            "seconds a query, throttling included",
            lambda runs: _measured(runs, {"seconds a query": "wall_s"}, amount),
            drawing.bars,
        ),
        Item("figure-5.7", "tokens a query", lambda runs: _measured(runs, _TOKENS, amount), drawing.bars),
        *(
            Item(f"figure-5.{n}", f"CPU and RAM of {system} over time", partial(_resources, system), drawing.lines)
            for n, system in enumerate(_SYSTEMS, start=8)
        ),
        Item("table-5.1", "tokens to build the graphs", _index_tokens),
        Item("table-5.2", "cost of each system", lambda runs: _measured(runs, _USD, amount)),
    ),
)
