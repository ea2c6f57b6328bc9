"""The contract of `harness.protocols.Evaluator` as tests."""
