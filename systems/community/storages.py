"""Replacements for stores of nano-graphrag. Imported only when nano-graphrag is loaded."""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
from graspologic_native import hierarchical_leiden
from nano_graphrag._storage import NetworkXStorage
from nano_graphrag.base import BaseVectorStorage
from nano_vectordb import NanoVectorDB

from harness.protocols import Vectors
from systems.common.wrapped_libraries import SEPARATOR

LARGEST_WEIGHT = 1e6
_NEAR = 0.2
"""Minimum cosine of a near entity, as in the library."""


class LeidenGraph(NetworkXStorage):  # type: ignore[misc]
    """A GraphML file, divided by Leiden without graspologic; an empty graph has no communities.

    The library iterates over sets of strings, whose order differs between processes; here it is fixed.
    """

    _graph: Any
    on_clustering: Callable[[], None] | None = None
    """Called before the graph is divided."""
    on_clustered: Callable[[int], None] | None = None
    """Called with the number of communities."""

    async def _leiden_clustering(self) -> None:
        """Assign the communities of each node, coarse to fine; a node without an edge has none."""
        if self.on_clustering:
            self.on_clustering()
        self._graph = self._stabilize_graph(self._graph)
        communities = _divide(self._chosen_part(), self.global_config)
        self._cluster_data_to_subgraphs(communities)
        if self.on_clustered:
            self.on_clustered(len({entry["cluster"] for entries in communities.values() for entry in entries}))

    def _chosen_part(self) -> Any:
        if self.global_config["addon_params"]["components"] == "all":
            return self._graph
        return self._graph.subgraph(max(nx.connected_components(self._graph), key=len, default=()))

    async def community_schema(self) -> dict[str, dict[str, Any]]:
        """Every community by its id, with its lists sorted."""
        schema: dict[str, dict[str, Any]] = await super().community_schema()
        for community in schema.values():
            community["nodes"].sort()
            community["edges"].sort()
            community["chunk_ids"].sort()
            community["sub_communities"].sort(key=int)
        return schema

    def order_sources(self, rank: Mapping[str, int]) -> None:
        """Put the text units of every node and edge in the order of `rank`."""
        for *_, data in [*self._graph.nodes(data=True), *self._graph.edges(data=True)]:
            units = sorted(data["source_id"].split(SEPARATOR), key=rank.__getitem__)
            data["source_id"] = SEPARATOR.join(units)

    def size(self) -> tuple[int, int]:
        return self._graph.number_of_nodes(), self._graph.number_of_edges()

    def edge(self, source: str, target: str) -> dict[str, Any]:
        found: dict[str, Any] = self._graph.edges[source, target]
        return found

    def outside_communities(self) -> int:
        return sum(1 for _, data in self._graph.nodes(data=True) if "clusters" not in data)

    def units_reported(self) -> set[str]:
        """The text units that state a relation of a community: the basis of its report."""
        inside = {node for node, data in self._graph.nodes(data=True) if "clusters" in data}
        reported = [data for *ends, data in self._graph.edges(data=True) if inside.intersection(ends)]
        return {unit for data in reported for unit in data["source_id"].split(SEPARATOR)}


def _divide(graph: Any, config: Mapping[str, Any]) -> dict[str, list[dict[str, int]]]:
    edges = sorted(
        (min(ends), max(ends), min(max(float(weight), 0.0), LARGEST_WEIGHT))
        for *ends, weight in graph.edges(data="weight", default=1.0)
    )
    communities = defaultdict(list)
    if edges:  # the algorithm rejects a network without edges
        found = hierarchical_leiden(
            edges, max_cluster_size=config["max_graph_cluster_size"], seed=config["graph_cluster_seed"]
        )
        for entry in found:
            communities[entry.node].append({"level": entry.level, "cluster": int(entry.cluster)})
    return dict(communities)


@dataclass
class EntityVectors(BaseVectorStorage):  # type: ignore[misc]
    """A nano-vectordb file of entity embeddings, of the dimension of the first vectors."""

    def __post_init__(self) -> None:
        self._path = Path(self.global_config["working_dir"]) / f"vdb_{self.namespace}.json"
        self._client: Any = None
        if self._path.exists():
            dimension = json.loads(self._path.read_text(encoding="utf-8"))["embedding_dim"]
            self._client = NanoVectorDB(dimension, storage_file=str(self._path))

    async def upsert(self, data: Mapping[str, Mapping[str, str]]) -> None:
        """Embed the `content` of each entry in one call; called once."""
        if not data:
            return
        vectors = await self.embedding_func([entry["content"] for entry in data.values()])
        self._client = NanoVectorDB(vectors.shape[1], storage_file=str(self._path))
        rows = zip(data.items(), vectors, strict=True)
        self._client.upsert(
            [{"__id__": key, "entity_name": entry["entity_name"], "__vector__": row} for (key, entry), row in rows]
        )

    def nearest(self, vector: Vectors, k: int) -> list[tuple[str, float]]:
        """At most k entities near `vector` with their cosine, best first, ties by name."""
        if self._client is None:
            return []
        rows = self._client.query(query=vector, top_k=k, better_than_threshold=_NEAR)
        found = [(str(row["entity_name"]), float(row["__metrics__"])) for row in rows]
        return sorted(found, key=lambda entity: (-entity[1], entity[0]))

    async def index_done_callback(self) -> None:
        if self._client is not None:
            self._client.save()
