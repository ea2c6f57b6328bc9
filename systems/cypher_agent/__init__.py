"""Answers questions with Cypher queries: see README.md in this folder."""
