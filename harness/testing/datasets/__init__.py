"""The contract of `harness.protocols.DatasetSpec` as tests."""
