"""Draws one comparison (input on the left, context on the right), and exports it as GraphML."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from harness.core.errors import need
from harness.display.plotting import GREY, LIGHT, PALETTE, WIDTH_IN, NewFigure, plotting, save
from harness.display.text_format import counted, printable
from harness.evaluators.kg.graphs.graph import TRIPLET_COST, TRIPLET_WEIGHT, KgGraph, SimilarEdge, TripletSide
from harness.evaluators.kg.graphs.scores import Match, partitions
from harness.extraction.entity_names import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_MOST = 24
"""Maximum nodes of a column."""
_PATH, _MISSED = PALETTE[0], PALETTE[5]
_FILLS = ("#e3eefb", "#fdeedd", "#e6f5e6", "#f3e8f8", "#fbe6e6", "#f4f4d9")
_BOX_IN = (1.25, 0.19)
_ROW_IN = 0.27
_LONGEST = 23
"""Maximum characters in a box."""
_HEAD_IN, _FOOT_IN = 0.75, 0.5

_Column = Literal["input relations", "input entities", "context entities", "context relations"]
_LEFT_IN: dict[_Column, float] = {
    "input relations": 0.05,
    "input entities": 1.75,
    "context entities": 4.1,
    "context relations": 5.8,
}
_Spot = tuple[float, float]


class DrawnNodes(NamedTuple):
    """The nodes to draw, as positions in the labels and triplets of the sides, each column from top to bottom."""

    inputs: list[int]
    contexts: list[int]
    input_triplets: list[int]
    context_triplets: list[int]
    left_out: int
    """Number of nodes without room."""


def draw_query_graph(graph: KgGraph, matches: Sequence[Match], title: str, folder: Path, stem: str) -> Path:
    with plotting() as new_figure:
        return save(query_graph_figure(graph, matches, title, new_figure), folder, stem)


def query_graph_figure(
    graph: KgGraph, matches: Sequence[Match] | None, title: str, new_figure: NewFigure
) -> Figure:
    """Blue: the paths of `matches`; a cross: input entities without one; filled: communities of both texts. With
    None the graph alone. Call it inside `plotting()`.
    """
    shown = choose(graph, matches or ())
    height = _HEAD_IN + _FOOT_IN + _ROW_IN * max(1, *map(len, shown[:4]))
    figure = new_figure(figsize=(WIDTH_IN, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, WIDTH_IN)
    axes.set_ylim(height, 0)
    axes.axis("off")
    _Picture(axes, height, graph, matches).draw(shown)
    _text_around(axes, height, title, shown.left_out, is_matched=matches is not None)
    return figure


def choose(graph: KgGraph, matches: Sequence[Match]) -> DrawnNodes:
    """All nodes if the columns have room; otherwise those on a path, next to one, or missed, while they fit."""
    inputs, contexts = graph.inputs, graph.contexts
    sizes = len(inputs.labels), len(contexts.labels), len(inputs.triplets), len(contexts.triplets)
    fits = max(sizes) <= _MOST
    rows = _input_rows(inputs, matches)[:_MOST]
    others = _context_rows(graph, matches, rows, everything=fits)[:_MOST]
    walked = {triplet for match in matches for triplet in match.triplets}
    on_path = [number for number, triplet in enumerate(inputs.triplets) if triplet in walked]
    shown = rows, others, _between(inputs, rows, on_path), _between(contexts, others, [])
    return DrawnNodes(*shown, left_out=sum(sizes) - sum(map(len, shown)))


def _input_rows(side: TripletSide, matches: Sequence[Match]) -> list[int]:
    """Groups entities that reach the same context entity; those that reach none come last."""
    place = {label: number for number, label in enumerate(side.labels)}
    ends = {match.entity: (match.similar.input_entity, match.cost) for match in matches}
    reached = sorted(ends, key=lambda label: (*ends[label], label))
    return [place[label] for label in (*reached, *(label for label in side.labels if label not in ends))]


def _context_rows(graph: KgGraph, matches: Sequence[Match], rows: Sequence[int], *, everything: bool) -> list[int]:
    """Entities on a path, similar to an input entity, or joined to one on a path, and others if there is room for
    all; each near the input entities that it is similar to.
    """
    row_of = {graph.inputs.labels[place]: row for row, place in enumerate(rows)}
    place_of = {label: place for place, label in enumerate(graph.contexts.labels)}
    similar: dict[int, list[int]] = {}
    on_path: dict[int, list[int]] = {}
    for found, edges in ((on_path, [match.similar for match in matches]), (similar, graph.similar_edges())):
        for edge in edges:
            if edge.input_entity in row_of:
                found.setdefault(place_of[edge.context_entity], []).append(row_of[edge.input_entity])
    joined = {place for ends in graph.contexts.ends if set(ends) & set(on_path) for place in ends}
    ranked = [*sorted(on_path), *sorted(similar), *sorted(joined), *(place_of.values() if everything else ())]
    chosen = list(dict.fromkeys(ranked))[:_MOST]
    beside = similar | on_path
    return sorted(chosen, key=lambda place: (fmean(beside.get(place, [len(rows)])), place))


def _between(side: TripletSide, shown: Sequence[int], first: Sequence[int]) -> list[int]:
    """The triplets between shown entities, `first` before the others; each near its entities."""
    row_of = {place: row for row, place in enumerate(shown)}
    ranked = dict.fromkeys([*first, *range(len(side.triplets))])
    drawn = [number for number in ranked if set(side.ends[number]) <= set(row_of)][:_MOST]
    return sorted(drawn, key=lambda number: (fmean(row_of[place] for place in side.ends[number]), number))


class _Picture:
    """Nodes as boxes in four columns, edges between neighbouring columns."""

    def __init__(self, axes: Axes, height: float, graph: KgGraph, matches: Sequence[Match] | None) -> None:
        self._axes, self._height, self._graph = axes, height, graph
        self._is_matched = matches is not None
        self._fills = _community_fills(graph) if self._is_matched else ({}, {})
        matches = matches or ()
        self._matched = {match.entity for match in matches}
        self._walked = {triplet for match in matches for triplet in match.triplets}
        self._taken = {match.similar for match in matches}

    def draw(self, shown: DrawnNodes) -> None:
        corners = self._box_corners
        inputs = corners("input entities", shown.inputs)
        contexts = corners("context entities", shown.contexts)
        self._entities(inputs, contexts)
        self._triplets(self._graph.inputs, corners("input relations", shown.input_triplets), inputs)
        self._triplets(self._graph.contexts, corners("context relations", shown.context_triplets), contexts)
        self._similar(inputs, contexts)

    def _box_corners(self, column: _Column, places: Sequence[int]) -> dict[int, _Spot]:
        """The upper left corner of each box; nodes are spread over the height of the column."""
        room = (self._height - _HEAD_IN - _FOOT_IN) / max(1, len(places))
        top = _HEAD_IN + (room - _BOX_IN[1]) / 2
        return {place: (_LEFT_IN[column], top + row * room) for row, place in enumerate(places)}

    def _entities(self, inputs: dict[int, _Spot], contexts: dict[int, _Spot]) -> None:
        for place, spot in inputs.items():
            label = self._graph.inputs.labels[place]
            face = self._fills[0].get(place, "white")
            if label in self._matched or not self._is_matched:
                self._box(spot, label, _PATH if self._is_matched else GREY, face=face)
            else:
                self._box(spot, f"\N{MULTIPLICATION SIGN} {label}", _MISSED, face=face, style=(0, (3, 2)))
        targets = {edge.context_entity for edge in self._taken}
        for place, spot in contexts.items():
            label = self._graph.contexts.labels[place]
            colour = _PATH if label in targets else GREY
            self._box(spot, label, colour, face=self._fills[1].get(place, "white"))

    def _triplets(self, side: TripletSide, relations: dict[int, _Spot], entities: dict[int, _Spot]) -> None:
        """Arrows from head to relation to tail, at the sides of the boxes that face each other."""
        for place, spot in relations.items():
            triplet, (head, tail) = side.triplets[place], side.ends[place]
            walked = side is self._graph.inputs and triplet in self._walked
            colour = _PATH if walked else GREY
            self._box(spot, triplet.relation, "none", face=LIGHT)
            look = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.2 if walked else 0.5, "mutation_scale": 5}
            for ends in ((entities[head], spot), (spot, entities[tail])):
                source, target = _facing_sides(*ends)
                arrow = {**look, "shrinkA": 0, "shrinkB": 0}
                self._axes.annotate("", target, source, arrowprops=arrow, zorder=1)

    def _similar(self, inputs: dict[int, _Spot], contexts: dict[int, _Spot]) -> None:
        similar = (found for found in _similar(self._graph) if found[1] in inputs and found[2] in contexts)
        # Not all at the middle, where the numbers of crossing lines would overlap.
        for (edge, one, other), share in zip(similar, cycle((0.3, 0.5, 0.7)), strict=False):
            (left, top), (right, bottom) = _facing_sides(inputs[one], contexts[other])
            on_path = edge in self._taken
            colour, width = (_PATH, 1.2) if on_path else (GREY, 0.5)
            self._axes.plot([left, right], [top, bottom], color=colour, linewidth=width, linestyle=(0, (4, 2)))
            self._axes.text(
                left + share * (right - left),
                top + share * (bottom - top),
                f"{edge.similarity:.2f}",
                fontsize=5,
                color=colour,
                ha="center",
                va="center",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4},
                zorder=3,
            )

    def _box(
        self, spot: _Spot, label: str, colour: str, *, face: str = "white", style: str | tuple[int, _Spot] = "-"
    ) -> None:
        from matplotlib.patches import Rectangle

        (left, top), (width, height) = spot, _BOX_IN
        look: dict[str, Any] = {"facecolor": face, "edgecolor": colour, "linewidth": 0.8, "linestyle": style}
        self._axes.add_patch(Rectangle((left, top), width, height, zorder=4, **look))
        look = {"fontsize": 6, "ha": "center", "va": "center_baseline"}
        self._axes.text(left + width / 2, top + height / 2, printable(label, _LONGEST), zorder=5, **look)


def _facing_sides(source: _Spot, target: _Spot) -> tuple[_Spot, _Spot]:
    """The middles of the sides at which two boxes face each other."""
    width, middle = _BOX_IN[0], _BOX_IN[1] / 2
    rightwards = source[0] < target[0]
    start = source[0] + (width if rightwards else 0), source[1] + middle
    return start, (target[0] + (0 if rightwards else width), target[1] + middle)


def _community_fills(graph: KgGraph) -> tuple[dict[int, str], dict[int, str]]:
    """The pale colour of each entity whose community has entities of both texts, by its place."""
    inputs, contexts, _ = next(partitions(graph, 1))
    colours = dict(zip(sorted({*inputs.tolist()} & {*contexts.tolist()}), cycle(_FILLS), strict=False))
    one, other = (
        {place: colours[community] for place, community in enumerate(side.tolist()) if community in colours}
        for side in (inputs, contexts)
    )
    return one, other


def _text_around(axes: Axes, height: float, title: str, left_out: int, *, is_matched: bool) -> None:
    for column, left in _LEFT_IN.items():
        middle = left + _BOX_IN[0] / 2
        axes.text(middle, _HEAD_IN - 0.08, column, ha="center", va="bottom", color=GREY, fontsize=6.5)
    lines = textwrap.wrap(printable(title, 230), 115)
    axes.text(0.05, 0.08, "\n".join(lines), va="top", fontsize=8)
    caption = "Dashed: SIMILAR, with the cosine."
    if is_matched:
        caption += " Blue: cheapest paths within reach; crossed: entities without one. Filled: shared communities."
    omitted = f" Left out: {counted(left_out, 'node')}." if left_out else ""
    axes.text(0.05, height - 0.12, caption + omitted, va="bottom", color=GREY, fontsize=6.5)


def graphml(graph: KgGraph, matches: Sequence[Match]) -> str:
    """The graph of Algorithm 1 as a GraphML document, deterministic. MissingDependency without networkx.

    Nodes: label (without characters that XML forbids), type (entity, relation), group (input, context), on_path,
    and matched for input entities. Edges: kind (STATES, SIMILAR), weight, cost, on_path.
    """
    need("evaluator-kg", "networkx")
    import networkx

    whole = networkx.DiGraph()
    walked = {triplet for match in matches for triplet in match.triplets}
    for group, side in (("input", graph.inputs), ("context", graph.contexts)):
        about = {"group": group, "on_path": False}
        for place, label in enumerate(side.labels):
            whole.add_node(f"{group}-entity-{place}", label=one_line(label), type="entity", **about)
        for place, (triplet, ends) in enumerate(zip(side.triplets, side.ends, strict=True)):
            relation, (head, tail) = f"{group}-relation-{place}", (f"{group}-entity-{end}" for end in ends)
            whole.add_node(relation, label=one_line(triplet.relation), type="relation", **about)
            states = {"kind": "STATES", "on_path": group == "input" and triplet in walked}
            for ends_of_edge in ((head, relation), (relation, tail)):
                whole.add_edge(*ends_of_edge, **states, weight=TRIPLET_WEIGHT, cost=TRIPLET_COST)
    taken = {match.similar for match in matches}
    matched = {match.entity for match in matches}
    for place, label in enumerate(graph.inputs.labels):
        whole.nodes[f"input-entity-{place}"]["matched"] = label in matched
    for edge, one, other in _similar(graph):
        source, target = f"input-entity-{one}", f"context-entity-{other}"
        costs = {"weight": edge.similarity, "cost": 1 - edge.similarity}
        whole.add_edge(source, target, kind="SIMILAR", **costs, on_path=edge in taken)
    for *nodes, on_path in whole.edges(data="on_path"):
        for node in nodes if on_path else ():
            whole.nodes[node]["on_path"] = True
    return "".join(f"{line}\n" for line in networkx.generate_graphml(whole))


def _similar(graph: KgGraph) -> Iterator[tuple[SimilarEdge, int, int]]:
    """Each edge with the places of its input and its context entity."""
    return zip(graph.similar_edges(), graph.pairs.inputs.tolist(), graph.pairs.contexts.tolist(), strict=True)
