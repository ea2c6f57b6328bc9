"""Router: see README.md in this folder."""
