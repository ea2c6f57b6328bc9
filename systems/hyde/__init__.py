"""HyDE: see README.md in this folder."""
