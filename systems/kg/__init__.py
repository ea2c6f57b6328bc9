"""KG-Graph RAG: see README.md in this folder."""
