"""What `harness.protocols.DatasetSpec` promises, clause by clause."""
