"""What `harness.protocols.System` promises, clause by clause."""
