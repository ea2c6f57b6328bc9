"""A tree of summaries over passages, as in RAPTOR (Sarthi et al. 2024): clusters of nodes are summarised, and the
summaries are the nodes of the next layer.
"""

import math
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from pydantic import BaseModel

from harness.core.records import Document, Span
from harness.core.scripts import bm25_terms
from harness.llm_utils.answer_contract import RULE, quoted
from harness.llm_utils.concurrency import map_bounded
from harness.protocols import ChatModel, Message, Runtime, Vectors
from systems.common.chunking import Chunk
from systems.common.headings import MOST_CITED, with_origins
from systems.common.passages import embed
from systems.common.sentences import sentence_spans
from systems.common.token_estimate import clip, count_tokens
from systems.common.wrapped_libraries import CONCURRENCY, Guard

_WORDS_A_TOKEN = 0.7
_ROLE = f"You summarise passages of a collection of documents. {RULE}"
_TASK = (
    "Write a summary of these passages in one paragraph of at most {words} words. Keep the names, sources, dates "
    "and amounts that matter, and state nothing that the passages do not say. Reply with the summary alone."
)


@dataclass(frozen=True)
class Sentence:
    """A sentence with the documents that state it."""

    text: str
    doc_ids: tuple[str, ...]
    origin: str = ""
    """Source and date, if the corpus has them."""

    @property
    def shown(self) -> str:
        return with_origins(self.text, [self.origin])


def sentences_of(chunk: Chunk) -> tuple[Sentence, ...]:
    origin, ids = chunk.origin, (chunk.span.doc_id,)
    return tuple(Sentence(chunk.text[start:end], ids, origin) for start, end in sentence_spans(chunk.text))


def cited(sentences: Sequence[Sentence]) -> list[str]:
    """The documents that state most of them."""
    counted = Counter(doc_id for sentence in sentences for doc_id in sentence.doc_ids)
    return [doc_id for doc_id, _ in counted.most_common(MOST_CITED)]


class SummaryWriter:
    """Writes summaries by rules, or with a model and by rules where that fails."""

    def __init__(self, chat: ChatModel | None, tokens: int, prompt_tokens: int) -> None:
        """`chat` None: by rules. `tokens`, `prompt_tokens`: maximum of a summary, and of the texts in a prompt."""
        self._chat = chat
        self._tokens = tokens
        self._prompt_tokens = prompt_tokens
        self.guard = Guard()
        self.failed = 0
        """Number of summaries that the model failed to write."""

    async def write(self, texts: Sequence[str], sentences: Sequence[Sentence]) -> tuple[Sentence, ...]:
        """The summary of texts with these sentences; call `guard.check` behind the last one."""
        chat = self._chat
        if chat is not None:
            messages = summary_messages(clip("\n\n".join(texts), self._prompt_tokens), self._tokens)
            reply = await self.guard.run(lambda: chat.complete(messages, max_tokens=self._tokens)) or ""
            ids = tuple(cited(sentences))
            if said := tuple(Sentence(reply[start:end], ids) for start, end in sentence_spans(reply)):
                return said
            self.failed += 1
        # Neighbouring chunks repeat sentences.
        distinct = list({sentence.text: sentence for sentence in sentences}.values())
        costs = [count_tokens(sentence.shown) for sentence in distinct]
        chosen = frequent_sentences([sentence.text for sentence in distinct], costs, self._tokens)
        return tuple(distinct[number] for number in chosen)


def summary_messages(material: str, tokens: int) -> list[Message]:
    task = _TASK.format(words=round(tokens * _WORDS_A_TOKEN))
    return [Message("system", _ROLE), Message("user", f"{quoted('passages', material)}\n\n{task}")]


def frequent_sentences(sentences: Sequence[str], costs: Sequence[int], budget: int) -> list[int]:
    """Ascending numbers of at least one sentence, and of more while their costs fit into the budget, by SumBasic
    (Nenkova & Vanderwende 2005).

    The sentence with the highest mean probability of its words is chosen, among those with the most probable word;
    then the probabilities of its words are squared, so that the next one says something else.
    """
    terms = bm25_terms(sentences)
    counts = Counter(term for of_sentence in terms for term in of_sentence)
    probability = {term: count / counts.total() for term, count in counts.items()}
    left = [number for number, of_sentence in enumerate(terms) if of_sentence]
    chosen: list[int] = []
    while left:
        # Ties: the first word of the alphabet, the first sentence.
        top = min({term for number in left for term in terms[number]}, key=lambda term: (-probability[term], term))
        among = [number for number in left if top in terms[number]]
        best = max(among, key=lambda number: sum(map(probability.__getitem__, terms[number])) / len(terms[number]))
        left.remove(best)
        if costs[best] <= budget or not chosen:
            chosen.append(best)
            budget -= costs[best]
            probability.update({term: probability[term] ** 2 for term in terms[best]})
    return sorted(chosen) or list(range(len(sentences[:1])))


DIMENSIONS = 10
"""Of reduced vectors; fewer than two more vectors are one cluster."""
_MOST_COMPONENTS = 50
_LEAST_SHARE = 0.1
"""A vector belongs to every component with more than this probability."""
_PATIENCE = 5
"""More components are tried until this many more do not improve the criterion."""
Numbers = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class SoftClusters:
    """Clusters of vectors, coarse and then fine: a Gaussian mixture over reduced vectors, with the number of
    components that minimises the Bayesian information criterion (BIC).
    """

    most_tokens: int
    """Maximum tokens of the members of a cluster with more than one."""
    seed: int

    def of(self, vectors: Vectors, tokens: Numbers) -> list[Numbers]:
        """The distinct clusters, as ascending numbers of vectors; each vector is in at least one."""
        from threadpoolctl import threadpool_limits

        found: dict[tuple[int, ...], Numbers] = {}
        # The matrices are small: more threads would only wait for each other.
        with warnings.catch_warnings(), threadpool_limits(1):
            # Equal vectors, and mixtures that do not converge: the criterion chooses among what there is.
            warnings.simplefilter("ignore")
            for coarse in self._components(vectors, np.arange(len(vectors))):
                for fine in self._components(vectors, coarse):
                    for part in self._within_limit(vectors, tokens, fine):
                        found.setdefault(tuple(part.tolist()), part)
        return list(found.values())

    def _components(self, vectors: Vectors, members: Numbers) -> list[Numbers]:
        if len(members) <= DIMENSIONS + 1:
            return [members]
        points = _reduced(vectors[members])
        shares = _mixture(points, self.seed).predict_proba(points)
        belongs = (shares > _LEAST_SHARE) | (shares == shares.max(axis=1, keepdims=True))
        return [members[column] for column in belongs.T if column.any()]

    def _within_limit(self, vectors: Vectors, tokens: Numbers, members: Numbers) -> Iterator[Numbers]:
        """The cluster, divided by k-means until its parts keep to the limit."""
        from sklearn.cluster import KMeans

        parts = min(math.ceil(tokens[members].sum() / self.most_tokens), len(members))
        if parts <= 1:
            yield members
            return
        labels = KMeans(parts, n_init=1, random_state=self.seed).fit_predict(vectors[members])
        groups = [members[labels == label] for label in np.unique(labels)]
        # Equal vectors cannot be told apart.
        for group in groups if len(groups) > 1 else np.array_split(members, 2):
            yield from self._within_limit(vectors, tokens, group)


def _reduced(vectors: Vectors) -> Any:
    from sklearn.decomposition import PCA

    dimensions = min(DIMENSIONS, vectors.shape[1])
    return PCA(dimensions, svd_solver="covariance_eigh").fit_transform(vectors.astype(np.float64))


def _mixture(points: Any, seed: int) -> Any:
    from sklearn.mixture import GaussianMixture

    best, lowest, tried_since = None, math.inf, 0
    for components in range(1, min(_MOST_COMPONENTS, len(points))):
        try:
            mixture = GaussianMixture(components, random_state=seed).fit(points)
        except ValueError:  # Too few distinct points for as many components.
            break
        criterion = mixture.bic(points)
        tried_since = 0 if criterion < lowest else tried_since + 1
        if criterion < lowest:
            best, lowest = mixture, criterion
        if tried_since == _PATIENCE:
            break
    return best


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
                tokens = np.array([count_tokens(chunk.shown) for chunk, _ in below])
                clusters = self.clusters.of(rows[-1], tokens)
            if 2 * len(clusters) > len(below):
                self.note = (
                    f"the tree does not converge: the {len(below)} nodes of layer {len(rows) - 1} make "
                    f"{len(clusters)} clusters, more than half as many, so it has no further layer"
                )
                break
            below = await self._layer(len(rows), below, clusters)
            rows.append(await embed(self.runtime, [chunk.text for chunk, _ in below]))
            self.above += [chunk for chunk, _ in below]
        self.tree.top = [chunk.chunk_id for chunk, _ in below]
        return np.vstack(rows)

    async def _layer(self, layer: int, below: list[_Node], clusters: Sequence[Numbers]) -> list[_Node]:
        async def summarize(cluster: Numbers) -> tuple[Sentence, ...]:
            nodes = [below[number] for number in cluster]
            sentences = [sentence for _, of_node in nodes for sentence in of_node]
            return await self.writer.write([chunk.shown for chunk, _ in nodes], sentences)

        with self.runtime.stage("summarize"):
            written = await map_bounded(
                summarize,
                clusters,
                CONCURRENCY,
                partial(self.runtime.progress, doing="summarizing"),
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
