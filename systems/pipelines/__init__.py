"""Pipelines of others, compared as they are: see README.md in this folder."""
