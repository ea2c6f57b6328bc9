"""LightRAG over the package lightrag-hku: see README.md in this folder."""
