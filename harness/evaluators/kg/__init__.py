"""KG-eval: `graphs` is the algorithm, independent of cases and models. The evaluators `kg` and `kg_nlp` use it,
and the command `graph` draws the graph of one query.
"""
