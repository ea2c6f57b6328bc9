"""Checks a run against conditions and a baseline: pass, fail or underpowered."""
