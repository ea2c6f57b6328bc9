"""The two baselines, closed book and gold evidence: see README.md in this folder."""
