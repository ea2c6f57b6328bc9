"""Search parameters of a graph; `systems.common.graph_index` defines its index."""

from typing import Literal

from pydantic import Field

from harness.core.errors import ConfigError
from harness.protocols import EMBEDS, NO_ROLE, Role
from systems.common.graph_index import GraphIndexParams, check_graph
from systems.common.search import SearchParams

Mode = Literal["hybrid", "triplets", "triplets+text"]


class GraphSearchParams(SearchParams):
    mode: Mode = "hybrid"
    """`hybrid`: passages by `search`, then triplets; `triplets`: only the graph; `triplets+text`: the passages
    that state the triplets (no passage search), then the triplets. With `prompts=thesis` triplets come first."""
    top_k: int = Field(3, ge=1, le=1000)
    """Passages for the generator; none in mode `triplets`."""
    max_triplets: int = Field(10, ge=1, le=1000)
    """Maximum triplets for the generator."""
    entities_per_name: int = Field(3, ge=1, le=50)
    """Maximum entities from full-text search per name in the question."""
    names_by: Literal["graph", "rules", "model"] = "graph"
    """How names in the question are found: `graph`: names of the graph's entities, without publishers; `rules`:
    quotation marks and capitals, then full-text search; `model`: one more model call, then full-text search.
    """
    mentions: bool | None = None
    """`hybrid`: whether passages that mention the question's entities are fused with those of the search. None:
    only if the search is `dense`, because BM25 finds names anyway.
    """
    rank: Literal["meaning", "words", "none"] = "meaning"
    """Order and text of triplets. `meaning`: by similarity of their sentences to the question, each with its
    sentence, publisher and date; `words`: by shared words, without sentences; `none`: entity by entity as full
    text found them, without sentences (thesis).
    """
    hops: int = Field(1, ge=1, le=2)
    """Maximum distance of triplets from the question's entities; 2: also triplets of neighbours."""

    @property
    def finds_passages(self) -> bool:
        return self.mode == "hybrid"

    @property
    def fuses_mentions(self) -> bool:
        """Whether passages that mention the question's entities are searched."""
        return self.search == "dense" if self.mentions is None else self.mentions

    @property
    def by_meaning(self) -> bool:
        return self.rank == "meaning" or (self.finds_passages and self.is_dense)

    @property
    def search_roles(self) -> frozenset[Role]:
        """The models of a search besides a generator for names: an embedder for semantic search of passages or
        triplets.
        """
        return EMBEDS if self.by_meaning else NO_ROLE


def reranker_of(answer: GraphSearchParams) -> str | None:
    return answer.rerank if answer.finds_passages else None


def check_search(index: GraphIndexParams, answer: GraphSearchParams) -> None:
    """Raise HarnessError if this graph cannot be built or searched here; see `SystemSpec.preflight`."""
    check_graph(index, answer)
    if answer.rank == "meaning" and not index.statements:
        raise ConfigError(
            "answer.rank=meaning searches the sentences of the triplets, but index.statements=false stores none",
            "choose answer.rank=words, or leave index.statements out",
        )
