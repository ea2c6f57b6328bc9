"""What `harness.protocols.Evaluator` promises, clause by clause."""
