"""Adapter to the ragas package for `harness.evaluators.ragas`."""
