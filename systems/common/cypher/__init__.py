"""Checks Cypher written by a model against an allow-list and writes it anew."""
