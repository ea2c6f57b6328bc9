"""RAPTOR: see README.md in this folder."""
