"""Closed book and gold evidence, the two baselines around every system: see README.md in this folder."""
