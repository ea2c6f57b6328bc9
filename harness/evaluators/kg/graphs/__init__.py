"""How much of one text does another hold, entity by entity? The KG-based scores of Dong et al. 2025.

Both texts come as triplets (head, relation, tail): the **input**, which is judged, and the **context**, which it
is held against. Algorithm 1 of the paper (https://arxiv.org/abs/2510.02549) makes one graph of them:

- Every head, relation and tail is a node. The same label within a side is one entity; every relation is a node of
  its own; the sides share no node.
- Every triplet is two edges, head to relation and relation to tail, of weight 0.9 and cost 0.1.
- An input entity and a context entity whose cosine is at least tau (0.7) are joined by a SIMILAR edge, whose
  weight is the cosine and whose cost is 1 - cosine.

| score | share of | that |
|--|--|--|
| `multi_hop` (Algorithm 2) | input entities | reach a context entity at a cost of at most delta (0.5) |
| `multi_hop_undirected` | input entities | likewise, reading triplets in both directions |
| `direct` | input entities | have a SIMILAR edge themselves |
| `community` (Formula 2) | input entities | are in a community with a context entity |
| `community_coverage` (Algorithm 3) | communities | hold entities of both sides |

With the defaults two triplets and an edge of cosine 0.9 are just within reach, or one and an edge of 0.7.

What the paper leaves open, as it is here:

- White space in labels is stripped and collapsed. A triplet with a blank head or tail is dropped and counted; the
  relation may be blank. A triplet that is stated twice within a side counts once, so that overlapping passages
  weigh no more than one, and the order of triplets changes nothing.
- A side without triplets: every score is 0. A side of `names`, entities without a triplet, is compared by them.
- Ties count: a cosine of tau and a cost of delta, within `TOLERANCE`.
- Communities are Louvain's (Blondel et al. 2008), defined on undirected graphs: the graph is read as one, with the
  weights above, at resolution 1. The algorithm depends on the order in which nodes are visited: the scores are
  means over seeds 0, 1, ..., 9, and `..._spread` is the population standard deviation. One partition a seed
  serves both.
- Equal texts need not score 1 in communities: a partition of higher modularity may cut the edges between a
  statement and its equal. For `a is a` against itself it does, and both scores are 0.
- A negative cosine, which needs a negative tau, weighs nothing in communities.

`kg_scores` does everything. Beneath it, for vectors that come another way: `TripletSide.of` a text's triplets,
`distinct_labels` to embed, `connect` to the graph, `scores_of` it, the `paths` behind `multi_hop`.
"""

from harness.core.records import Triplet
from harness.evaluators.kg.graphs.graph import KgGraph, SimilarEdge, connect
from harness.evaluators.kg.graphs.multi_hop import Match, paths
from harness.evaluators.kg.graphs.scores import KgScores, kg_scores, scores_of
from harness.evaluators.kg.graphs.similar_edges import TOLERANCE
from harness.evaluators.kg.graphs.triplet_graph import TripletSide, distinct_labels

__all__ = [
    "TOLERANCE",
    "KgGraph",
    "KgScores",
    "Match",
    "SimilarEdge",
    "Triplet",
    "TripletSide",
    "connect",
    "distinct_labels",
    "kg_scores",
    "paths",
    "scores_of",
]
