"""Long context: see README.md in this folder."""
