"""A tree of summaries over passages, as in RAPTOR (Sarthi et al. 2024): clusters of nodes are summarised, and the
summaries are the nodes of the next layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel

from harness.core.records import Document, Span
from harness.llm_utils.concurrency import map_bounded
from harness.protocols import Runtime
from systems.common.chunking import Chunk
from systems.common.headings import passage_text
from systems.common.passages import Passages
from systems.common.soft_clusters import DIMENSIONS, Numbers, SoftClusters
from systems.common.summaries import Sentence, SummaryWriter, cited, sentences_of
from systems.common.token_estimate import count_tokens
from systems.common.wrapped_libraries import CONCURRENCY

if TYPE_CHECKING:
    from harness.protocols import Vectors


_Node = tuple[Chunk, tuple[Sentence, ...]]
"""A passage or summary, and its sentences."""


class Summary(BaseModel):
    """A node above the passages."""

    layer: int
    children: list[str]
    """Chunk ids."""
    doc_ids: list[str]


class Tree(BaseModel):
    """What is stored of the tree besides the texts."""

    summaries: dict[str, Summary] = {}
    """By document id: a summary is stored as a passage of a document of its own."""
    top: list[str] = []
    """Chunk ids of the last layer."""


@dataclass
class TreeBuilder:
    """Grows the tree over the passages of a corpus."""

    runtime: Runtime
    passages: Passages
    clusters: SoftClusters
    writer: SummaryWriter
    mark: str
    """Begins the document ids of summaries, and no other."""
    tree: Tree = field(default_factory=Tree)
    above: list[Chunk] = field(default_factory=list)
    """The summaries."""
    note: str = ""
    """Why the tree ended early."""

    async def grow(self, chunks: Sequence[Chunk], vectors: Vectors, max_layers: int) -> Vectors:
        """Add layers until a layer is small or does not become smaller. Returns the vectors of all nodes."""
        below, rows = [(chunk, sentences_of(chunk)) for chunk in chunks], [vectors]
        while len(rows) <= max_layers and len(below) > DIMENSIONS + 1:
            with self.runtime.stage("cluster"):
                tokens = np.array([count_tokens(passage_text(chunk)) for chunk, _ in below])
                clusters = self.clusters.of(rows[-1], tokens)
            if 2 * len(clusters) > len(below):
                self.note = (
                    f"the tree does not converge: the {len(below)} nodes of layer {len(rows) - 1} make "
                    f"{len(clusters)} clusters, more than half as many, so it has no further layer"
                )
                break
            below = await self._layer(len(rows), below, clusters)
            rows.append(await self.passages.embed([chunk.text for chunk, _ in below]))
            self.above += [chunk for chunk, _ in below]
        self.tree.top = [chunk.chunk_id for chunk, _ in below]
        return np.vstack(rows)

    async def _layer(self, layer: int, below: list[_Node], clusters: Sequence[Numbers]) -> list[_Node]:
        async def summarize(cluster: Numbers) -> tuple[Sentence, ...]:
            nodes = [below[number] for number in cluster]
            sentences = [sentence for _, of_node in nodes for sentence in of_node]
            return await self.writer.write([passage_text(chunk) for chunk, _ in nodes], sentences)

        with self.runtime.stage("summarize"):
            written = await map_bounded(
                summarize,
                clusters,
                CONCURRENCY,
                lambda done, all_: self.runtime.progress(done, all_, "summarizing"),
            )
            self.writer.guard.check()
        nodes = []
        for number, sentences in enumerate(written):
            text = "\n".join(sentence.shown for sentence in sentences)
            document = Document(doc_id=f"{self.mark}{layer}-{number}", text=text)
            span = Span(doc_id=document.doc_id, start=0, end=len(text))
            children = [below[child][0].chunk_id for child in clusters[number]]
            self.tree.summaries[span.doc_id] = Summary(layer=layer, children=children, doc_ids=cited(sentences))
            nodes.append((Chunk(f"summary {layer:02}-{number:06}", text, span, document, False), sentences))
        return nodes
