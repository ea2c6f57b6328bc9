"""Checks Cypher statements of a model against an allow-list and rewrites them."""
