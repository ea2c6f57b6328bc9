"""Questions as Cypher: see README.md in this folder."""
