"""How much of one text does another contain, entity by entity? The KG-based scores of Dong et al. 2025.

Both texts are given as triplets (head, relation, tail): the **input**, which is scored, and the **context** that
it is compared with. Algorithm 1 of the paper (https://arxiv.org/abs/2510.02549) builds one graph from them:

- Every head, relation and tail is a node. Equal labels within one text are one entity; every relation is a
  separate node; the two texts share no node.
- Every triplet is two edges, head to relation and relation to tail, with weight 0.9 and cost 0.1.
- An input entity and a context entity with a cosine of at least tau (0.7) are joined by a SIMILAR edge. Its weight
  is the cosine, its cost 1 - cosine.

| score | share of | condition |
|--|--|--|
| `multi_hop` (Algorithm 2) | input entities | reach a context entity at a cost of at most delta (0.5) |
| `multi_hop_undirected` | input entities | the same, following triplets in both directions |
| `direct` | input entities | have a SIMILAR edge themselves |
| `community` (Formula 2) | input entities | are in a community with a context entity |
| `community_coverage` (Algorithm 3) | communities | contain entities of both texts |

Details that the paper leaves open:

- White space in labels is collapsed. A triplet with a blank head or tail is dropped; the relation may be blank. A
  triplet that a text states twice counts once, so overlapping passages have no extra weight.
- If a text has no triplets, every score is 0. A text given as `names`, entities without triplets, is compared by
  them.
- Ties count: a cosine of tau and a cost of delta, within `TOLERANCE`.
- Communities are Louvain's (Blondel et al. 2008) on the undirected graph, with the weights above and resolution 1.
  The algorithm depends on the order in which nodes are visited: the scores are means over seeds 0, 1, ..., 9, and
  `..._spread` is the population standard deviation. Both scores use the same partition of a seed. Equal texts need
  not have a score of 1: for `a is a` against itself both are 0.

`TripletSide.of` is a text's triplets, `distinct_labels` what to embed, `connect` the graph, `scores_of` its
scores, `paths` the paths behind `multi_hop`.
"""
