"""Community-Graph RAG over nano-graphrag: see README.md in this folder."""
