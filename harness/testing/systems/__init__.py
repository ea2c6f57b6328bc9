"""The contract of `harness.protocols.System` as tests."""
