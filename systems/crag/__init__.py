"""Corrective RAG: see README.md in this folder."""
