"""KG-eval: `graphs` is the algorithm; the evaluators `kg` and `kg_nlp` and the command `graph` use it."""
