"""How a graph is searched; its index is defined in `systems.common.graph_index`."""

from typing import Literal

from pydantic import Field

from harness.core.errors import ConfigError
from harness.protocols import EMBEDS, NO_ROLE, Role
from systems.common.graph_index import GraphIndexParams, check_graph
from systems.common.search import SearchParams

Mode = Literal["hybrid", "triplets", "triplets+text"]


class GraphSearchParams(SearchParams):
    """Parameters that do not change the index."""

    mode: Mode = "hybrid"
    """`hybrid`: passages by `search`, then triplets (thesis); `triplets`: the graph alone; `triplets+text`: the
    passages that state the triplets, without a search for passages, then the triplets."""
    top_k: int = Field(3, ge=1, le=1000)
    """Passages handed to the generator; none in mode `triplets`."""
    max_triplets: int = Field(10, ge=1, le=1000)
    """Triplets handed to the generator."""
    entities_per_name: int = Field(3, ge=1, le=50)
    """Entities that full-text search may find for one name of the question."""
    names_by: Literal["graph", "rules", "model"] = "graph"
    """How the names in the question are found: `graph`: names of the graph's entities, without publishers;
    `rules`: by quotation marks and capitals, each then searched; `model`: by one more model call, each then
    searched."""
    mentions: bool | None = None
    """`hybrid`: whether passages that mention the question's entities are fused with those of the search; None:
    with a `dense` search alone, for BM25 finds names by itself."""
    rank: Literal["meaning", "words"] = "meaning"
    """Which triplets come first, and how they read: those stated by the sentences nearest to the question, each
    with its sentence, publisher and date; or those that share most words with it, bare (thesis)."""
    hops: int = Field(1, ge=1, le=2)
    """How far from the question's entities triplets may lie; 2: also those of their neighbours."""

    @property
    def finds_passages(self) -> bool:
        """Whether passages are searched for."""
        return self.mode == "hybrid"

    @property
    def fuses_mentions(self) -> bool:
        """Whether passages that mention the question's entities are looked for."""
        return self.search == "dense" if self.mentions is None else self.mentions

    @property
    def by_meaning(self) -> bool:
        """Whether the question is embedded."""
        return self.rank == "meaning" or (self.finds_passages and self.is_dense)

    @property
    def search_roles(self) -> frozenset[Role]:
        """The models that a search needs besides a generator for names: an embedder for a semantic search of
        passages or triplets.
        """
        return EMBEDS if self.by_meaning else NO_ROLE


def reranker_of(answer: GraphSearchParams) -> str | None:
    """See `SystemSpec.reranker`."""
    return answer.rerank if answer.finds_passages else None


def check_search(index: GraphIndexParams, answer: GraphSearchParams) -> None:
    """Raise HarnessError if the graph cannot be built here or searched in this way; see `SystemSpec.preflight`."""
    check_graph(index, answer)
    if answer.rank == "meaning" and not index.statements:
        raise ConfigError(
            "answer.rank=meaning searches the sentences of the triplets, and index.statements=false keeps none",
            "choose answer.rank=words, or leave index.statements out",
        )
