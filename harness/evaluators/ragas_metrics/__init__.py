"""What `harness.evaluators.ragas` needs of the ragas package."""
