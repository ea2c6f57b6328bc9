"""Contextual retrieval: see README.md in this folder."""
