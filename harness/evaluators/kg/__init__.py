"""KG-eval: `graphs` is the algorithm, which knows no case and no model; beside it the evaluators `kg` and `kg_nlp`
that feed it, and the command `graph` that shows one."""
