"""Da et al. 2025, GE-Chat: evidence for answers by a graph, against the evidence that a model names itself."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from harness.core.hashing import flatten
from harness.display import Entry, Quantity, Table, printable
from harness.extensions.reproduce import drawing
from harness.extensions.reproduce.paper import Item, NotMade, Paper, PaperRuns, item_table
from harness.statistics.confidence_intervals import mean_interval

_COLUMNS = {"named by the model": "direct", "GE-Chat": "graph"}
_DEBERTA = "MoritzLaurer/DeBERTa-v3-large-mnli-fever-anli-ling-wanli"
"""The paper names DeBERTa-large without its training data. Not in the config, so that it can be planned without
torch and the hub.
"""


def _evidence(runs: PaperRuns) -> Table:
    """The Evid score (the paper's formula 2) of all cases, and by domain and length of their documents."""
    views = {title: runs.view("evidence", answer_evidence=kind) for title, kind in _COLUMNS.items()}
    kinds = next(iter(views.values())).frame.query_types
    of = {query: kind.split(", ") for query, kind in kinds.items()}
    domains = sorted({parts[0] for parts in of.values()})
    groups = {"all cases": set(of)}
    groups |= {printable(name): {query for query, parts in of.items() if parts[0] == name} for name in domains}
    for name in ("short", "medium", "long"):
        groups[f"{name} texts"] = {query for query, parts in of.items() if parts[-1] == name}
    rows = [
        (title, *(_mean(view.values.get("evid", {}), queries) for view in views.values()))
        for title, queries in groups.items()
        if queries
    ]
    if not any(isinstance(entry, Quantity) and entry.value is not None for row in rows for entry in row):
        raise NotMade("no answer was scored on its evidence")
    model = printable(next(iter(views.values())).model("generator"))
    note = f"Evid score of {model}: cosine of cited and gold sentences, reduced if the cited ones are longer."
    return item_table(("cases", *views), rows, note)


def _mean(values: Mapping[str, float], queries: set[str]) -> Entry:
    own = [value for query, value in values.items() if query in queries]
    if not own:
        return Quantity(None)
    return Quantity(fmean(own), *mean_interval(own), n=len(own))


def _method(runs: PaperRuns) -> Table:
    view = runs.view("evidence", answer_evidence="graph")
    own = flatten(view.manifest.system)
    weight = float(str(own.get("answer.length_weight")))
    kinds = {kind.split(", ")[0] for kind in view.frame.query_types.values()}
    rows = (
        ("alpha, weight of entailment", Quantity(1 - weight)),
        ("beta, weight of length", Quantity(weight)),
        ("hops", Quantity(float(str(own.get("answer.step_hops"))), unit="count")),
        ("cases", Quantity(len(view.frame.query_types), unit="count")),
        ("domains", Quantity(len(kinds), unit="count")),
    )
    return item_table(("constant", "value"), rows)


PAPER = Paper(
    name="ge_chat",
    citation="Da, Shah, Liou, Zhang and Wei 2025, GE-Chat",
    configs=("ge_chat.yaml",),
    settings={
        "published": {"per_system.evidence.answer.entailment": _DEBERTA},
        "local": {
            "dataset.sample": {"per_type": 1, "seed": 42},
            "dataset.corpus": "cited",
            "per_system.evidence.index.extractor": "nlp",
            "per_system.evidence.answer": {
                "steps": "with_answer",
                "sentence_per": "chunk",
                "max_steps": 2,
                "step_chunks": 2,
                "step_sentences": 3,
            },
        },
        "scripted": {
            "dataset.sample": {"per_type": 1, "seed": 42},
            "dataset.corpus": "cited",
            "per_system.evidence.index.extractor": "nlp",
        },
    },
    items=(
        Item("figure-2c", "Evid score of a model alone and with GE-Chat", _evidence, drawing.bars),
        Item("section-3", "constants of the method, and the cases", _method),
    ),
)
